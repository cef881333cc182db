{{/* Name of the chart, or its replacement, as a label value. */}}
{{- define "restmapping-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Base of the names of all objects. 48 characters leave room for the suffixes. */}}
{{- define "restmapping-operator.fullname" -}}
{{- $name := include "restmapping-operator.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which the operator's own pods are selected. They must never change for a release. */}}
{{- define "restmapping-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "restmapping-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "restmapping-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "restmapping-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Name of the ServiceAccount that the operator runs as. */}}
{{- define "restmapping-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "restmapping-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The one subject of all bindings. */}}
{{- define "restmapping-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "restmapping-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Reference of the image: by digest where there is one, or else by tag. */}}
{{- define "restmapping-operator.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Affinity: what was given, or else a wish for different nodes. */}}
{{- define "restmapping-operator.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "restmapping-operator.selectorLabels" . | nindent 12 }}
{{- end -}}
{{- end -}}

{{/* Topology spread constraints; one without a selector would spread nothing, so it is given ours. */}}
{{- define "restmapping-operator.topologySpreadConstraints" -}}
{{- $selector := dict "matchLabels" (include "restmapping-operator.selectorLabels" . | fromYaml) -}}
{{- $constraints := list -}}
{{- range .Values.topologySpreadConstraints -}}
{{- $constraints = append $constraints (ternary . (merge (dict "labelSelector" (deepCopy $selector)) .) (hasKey . "labelSelector")) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{/* The three times of leader election must stand in this order, or the operator ends at once. */}}
{{- define "restmapping-operator.leaderElectionArgs" -}}
{{- with .Values.leaderElection -}}
{{- if le (int .leaseDurationSeconds) (int .renewDeadlineSeconds) -}}
{{- fail "leaderElection: leaseDurationSeconds must be more than renewDeadlineSeconds" -}}
{{- end -}}
{{- if le (mul 10 (int .renewDeadlineSeconds)) (mul 12 (int .retryPeriodSeconds)) -}}
{{- fail "leaderElection: renewDeadlineSeconds must be more than 1.2 times retryPeriodSeconds" -}}
{{- end -}}
- --leader-elect
- --leader-elect-lease-duration={{ int64 .leaseDurationSeconds }}s
- --leader-elect-renew-deadline={{ int64 .renewDeadlineSeconds }}s
- --leader-elect-retry-period={{ int64 .retryPeriodSeconds }}s
{{- end -}}
{{- end -}}
