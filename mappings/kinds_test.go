package mappings

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/goldenmapping"
)

func TestCRDsAreValidForTheAPIServer(t *testing.T) {
	t.Parallel()
	for _, dir := range kindFolders(t) {
		t.Run(filepath.ToSlash(dir), func(t *testing.T) {
			t.Parallel()
			crd := &apiextensionsv1.CustomResourceDefinition{}
			readFile(t, filepath.Join(dir, goldenmapping.CRDFile), crd)
			scheme := runtime.NewScheme()
			if err := apiextensionsv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			scheme.Default(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			internal := &apiextensions.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
				t.Fatal(err)
			}
			internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
			if list := validation.ValidateCustomResourceDefinition(t.Context(), internal); len(list) > 0 {
				t.Error(list.ToAggregate())
			}
		})
	}
}

func TestCRDsShowTheirStateAndExplainTheirFields(t *testing.T) {
	t.Parallel()
	for _, dir := range kindFolders(t) {
		t.Run(filepath.ToSlash(dir), func(t *testing.T) {
			t.Parallel()
			crd := &apiextensionsv1.CustomResourceDefinition{}
			readFile(t, filepath.Join(dir, goldenmapping.CRDFile), crd)
			v := crd.Spec.Versions[0]
			var columns []string
			for _, c := range v.AdditionalPrinterColumns {
				columns = append(columns, c.Name)
			}
			for _, want := range []string{"Ready", "Synced", "Reason", "Age"} {
				if !slices.Contains(columns, want) {
					t.Errorf("want a printer column %s, got %v", want, columns)
				}
			}
			status := v.Schema.OpenAPIV3Schema.Properties["status"]
			if status.Default == nil || !bytes.Contains(status.Default.Raw, []byte(`"observedGeneration":-1`)) {
				t.Error("want status to default to observedGeneration -1: otherwise a new object counts as ready")
			}
			for _, field := range []string{"identifiers", "lastError", "drift", "lastHandledReconcileAt"} {
				if _, there := status.Properties[field]; !there {
					t.Errorf("want status.%s in the schema", field)
				}
			}
			checkDescriptions(t, "spec", v.Schema.OpenAPIV3Schema.Properties["spec"])
			checkDescriptions(t, "status", status)
		})
	}
}

// checkDescriptions: kubectl explain is of use only when every field says what it is.
func checkDescriptions(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if schema.Description == "" && path != "status.conditions[]" {
		t.Errorf("%s has no description", path)
	}
	for name, property := range schema.Properties {
		checkDescriptions(t, path+"."+name, property)
	}
	if schema.Items != nil && schema.Items.Schema != nil && len(schema.Items.Schema.Properties) > 0 {
		checkDescriptions(t, path+"[]", *schema.Items.Schema)
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, dir := range kindFolders(t) {
		t.Run(filepath.ToSlash(dir), func(t *testing.T) {
			t.Parallel()
			kind, err := goldenmapping.LoadKind(dir)
			if err != nil {
				t.Fatal(err)
			}
			samples := 0
			for _, object := range documents(t, filepath.Join(dir, goldenmapping.SampleFile)) {
				if !kind.Serves(object) {
					checkIsReadableSecret(t, object)
					continue
				}
				samples++
				if err := kind.Admit(t.Context(), object); err != nil {
					t.Error(err)
				}
			}
			if samples == 0 {
				t.Error("the sample holds no object of the kind")
			}
		})
	}
}

func checkIsReadableSecret(t *testing.T, object map[string]any) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, secret, true); err != nil {
		t.Error(err)
	}
	if secret.Kind != "Secret" || secret.Labels[v1alpha1.AllowReadLabel] != "true" {
		t.Errorf("want a Secret with the label %s, got %s %s", v1alpha1.AllowReadLabel, secret.Kind, secret.Name)
	}
}

func TestMappingsSayWhatMakesTheirCreateSafe(t *testing.T) {
	t.Parallel()
	want := map[string]v1alpha1.CreateSafety{
		"gitea/label": v1alpha1.SafetyNone, "gitea/webhook": v1alpha1.SafetyMarker, "gitea/branchprotection": v1alpha1.SafetyUniqueKey,
		"gitea/organization": v1alpha1.SafetyUniqueKey, "gitea/repository": v1alpha1.SafetyUniqueKey, "gitea/team": v1alpha1.SafetyUniqueKey,
		"github/githubrepo": v1alpha1.SafetyUniqueKey, "alertmanager/silence": v1alpha1.SafetyMarker,
		"pocketbase/collection": v1alpha1.SafetyUniqueKey, "pocketbase/record": v1alpha1.SafetyUniqueKey,
		"lxd/project": v1alpha1.SafetyUniqueKey, "lxd/profile": v1alpha1.SafetyUniqueKey, "lxd/volume": v1alpha1.SafetyUniqueKey,
		"lxd/instance": v1alpha1.SafetyUniqueKey, "powerdns/zone": v1alpha1.SafetyUniqueKey,
	}
	for _, dir := range kindFolders(t) {
		kind, err := goldenmapping.LoadKind(dir)
		if err != nil {
			t.Fatal(err)
		}
		wanted, given := want[filepath.ToSlash(dir)]
		if !given {
			wanted = v1alpha1.SafetyUpsert
		}
		if got, _ := kind.Program.CreateSafety(); got != wanted {
			t.Errorf("%s: want create safety %s, got %s", dir, wanted, got)
		}
		if warnings := kind.Program.Warnings(); len(warnings) > 0 {
			t.Errorf("%s: %v", dir, warnings)
		}
	}
}

func TestEachAPIHasWhatInstallsIt(t *testing.T) {
	t.Parallel()
	for api, kinds := range apis(t) {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			checkReadme(t, api, kinds)
			checkEndpoint(t, api)
			checkRights(t, api, kinds)
		})
	}
}

// apis gives the CRDs of each API.
func apis(t *testing.T) map[string][]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	found := map[string][]*apiextensionsv1.CustomResourceDefinition{}
	for _, dir := range kindFolders(t) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		readFile(t, filepath.Join(dir, goldenmapping.CRDFile), crd)
		api := filepath.Dir(dir)
		found[api] = append(found[api], crd)
	}
	return found
}

func checkReadme(t *testing.T, api string, kinds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(api, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range kinds {
		for _, want := range []string{crd.Spec.Names.Kind, "kubectl", "endpoint.yaml", "rbac.yaml"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("README.md does not speak of %s", want)
			}
		}
	}
}

func checkEndpoint(t *testing.T, api string) {
	t.Helper()
	endpoints, secrets := 0, map[string]bool{}
	for _, object := range documents(t, filepath.Join(api, "endpoint.yaml")) {
		if object["kind"] == "Secret" {
			checkIsReadableSecret(t, object)
			secrets[nameOf(object)] = true
			continue
		}
		endpoint := &v1alpha1.RestEndpoint{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, endpoint, true); err != nil {
			t.Error(err)
		}
		endpoints++
		if endpoint.Name != api || endpoint.Spec.Probe == nil || !authenticates(endpoint) {
			t.Errorf("want an endpoint %s with auth and a probe, got %s", api, endpoint.Name)
		}
	}
	if endpoints != 1 || !secrets[api] {
		t.Errorf("want one endpoint and a Secret %s, got %d and %v", api, endpoints, secrets)
	}
}

// authenticates tells that the endpoint says who asks: with a credential, or with a certificate.
func authenticates(endpoint *v1alpha1.RestEndpoint) bool {
	tls := endpoint.Spec.TLS
	return endpoint.Spec.Auth != nil || tls != nil && tls.ClientCertificate != nil
}

func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// checkRights: the operator gets exactly these verbs on exactly these kinds, by a label.
func checkRights(t *testing.T, api string, kinds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	readFile(t, filepath.Join(api, "rbac.yaml"), role)
	if role.Labels["restmapping.dev/aggregate-to-operator"] != "true" {
		t.Error("want the label restmapping.dev/aggregate-to-operator")
	}
	want := map[string][]string{
		"": {"get", "list", "patch", "update", "watch"}, "/status": {"get", "patch", "update"}, "/finalizers": {"update"},
	}
	for suffix, verbs := range want {
		for _, crd := range kinds {
			resource := crd.Spec.Names.Plural + suffix
			if got := verbsOf(role, crd.Spec.Group, resource); !slices.Equal(got, verbs) {
				t.Errorf("%s in %s: want verbs %v, got %v", resource, crd.Spec.Group, verbs, got)
			}
		}
	}
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") {
			t.Error("a rule grants everything")
		}
	}
}

func verbsOf(role *rbacv1.ClusterRole, group, resource string) []string {
	var verbs []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) {
			verbs = append(verbs, rule.Verbs...)
		}
	}
	slices.Sort(verbs)
	return verbs
}

func readFile(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// documents reads the objects of a file.
func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	reader := utilyaml.NewYAMLReader(bufio.NewReader(f))
	var list []map[string]any
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(asJSON, &object); err != nil {
			t.Fatal(err)
		}
		list = append(list, object)
	}
}
