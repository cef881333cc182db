package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Vault is a HashiCorp Vault or an OpenBao, and as whom the endpoint reads there.
//
// +kubebuilder:validation:XValidation:rule="has(self.tokenRef) != has(self.kubernetes)",message="vault: exactly one of tokenRef and kubernetes"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenRef) || !has(self.tokenRef.vault)",message="vault: its own token cannot come from it"
type Vault struct {
	// Address is the scheme, host and port.
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+/?$`
	// +kubebuilder:validation:MaxLength=512
	Address string `json:"address"`
	// Namespace is one of Vault's own namespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]*$`
	Namespace string `json:"namespace,omitempty"`
	// Mount is where the KV engine, version 2, is mounted.
	// +optional
	// +kubebuilder:default=secret
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	// +kubebuilder:validation:MaxLength=255
	Mount string `json:"mount,omitempty"`
	// CABundle is one or more PEM certificates that Vault's certificate must lead to; the system's otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	CABundle string `json:"caBundle,omitempty"`
	// TokenRef is a token of Vault.
	// +optional
	TokenRef *SecretKeyReference `json:"tokenRef,omitempty"`
	// Kubernetes logs in with a token of a ServiceAccount.
	// +optional
	Kubernetes *VaultKubernetes `json:"kubernetes,omitempty"`
	// RefreshInterval is how often the secrets are read again.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(s|m|h)){1,4}$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="refreshInterval: at least 10s"
	RefreshInterval metav1.Duration `json:"refreshInterval,omitempty"`
}

// VaultKubernetes is Vault's auth method for Kubernetes.
type VaultKubernetes struct {
	// Mount is where the method is mounted.
	// +optional
	// +kubebuilder:default=kubernetes
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	// +kubebuilder:validation:MaxLength=255
	Mount string `json:"mount,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Role string `json:"role"`
	// ServiceAccountToken is what is shown to Vault, under the rules of auth.serviceAccountToken.
	ServiceAccountToken ServiceAccountTokenAuth `json:"serviceAccountToken"`
}
