{{/*
Rules on what is in namespaces. They are given everywhere by a ClusterRole, or in each of watchNamespaces by a Role.
*/}}
{{- define "restmapping-operator.namespacedRules" -}}
- apiGroups: ["restmapping.dev"]
  resources: ["restendpoints"]
  verbs: ["get", "list", "watch", "patch", "update"]
- apiGroups: ["restmapping.dev"]
  resources: ["restendpoints/status"]
  verbs: ["get", "patch", "update"]
{{ include "restmapping-operator.secretRules" . }}
{{- include "restmapping-operator.outputRules" . }}
{{ include "restmapping-operator.eventRules" . }}
{{- with include "restmapping-operator.tokenRules" . }}
{{ . }}
{{- end }}
{{- end -}}

{{/*
Tokens of ServiceAccounts, for endpoints with auth.serviceAccountToken. Only accounts with the label
restmapping.dev/allow-token: "true" are used, which RBAC cannot express; so it is not given unless it is asked for.
*/}}
{{- define "restmapping-operator.tokenRules" -}}
{{- if .Values.rbac.serviceAccountTokens -}}
- apiGroups: [""]
  resources: ["serviceaccounts"]
  verbs: ["get"]
- apiGroups: [""]
  resources: ["serviceaccounts/token"]
  verbs: ["create"]
{{- end -}}
{{- end -}}

{{/*
Outputs are watched by their label and as metadata alone, and only an object that the operator made for the same custom
resource is ever changed. RBAC can express none of that, so these rules are given by value.
*/}}
{{- define "restmapping-operator.outputRules" -}}
{{- if .Values.outputs.secrets }}
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create", "update"]
{{- end }}
{{- if .Values.outputs.configMaps }}
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["get", "list", "watch", "create", "update"]
{{- end }}
{{- end -}}

{{/*
Secrets are read by name, one at a time, and only those with the label restmapping.dev/allow-read: "true". The watch
is of metadata alone and of labelled Secrets alone: it tells of a change, and no value is cached. RBAC can express
neither the label nor "metadata alone", so the rule is wider than the use. watchNamespaces narrows it.
*/}}
{{- define "restmapping-operator.secretRules" -}}
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["get", "list", "watch"]
{{- end -}}

{{- define "restmapping-operator.eventRules" -}}
- apiGroups: ["", "events.k8s.io"]
  resources: ["events"]
  verbs: ["create", "patch"]
{{- end -}}

{{/*
Bindings of a ClusterRole (role) on managed kinds: everywhere, or in each of watchNamespaces. A RoleBinding of a ClusterRole
grants its rules in its own namespace alone.
*/}}
{{- define "restmapping-operator.bindManaged" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- range default (list "") $root.Values.watchNamespaces | uniq }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (ne . "") }}
metadata:
  name: {{ $role }}
  {{- with . }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "restmapping-operator.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $role }}
subjects:
  {{- include "restmapping-operator.subjects" $root | nindent 2 }}
{{- end }}
{{- end -}}
