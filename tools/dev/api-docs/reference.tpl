{{- define "gvList" -}}
<!-- Generated from api/v1alpha1 by `make generate`; edit the types instead. -->
# API reference
{{ range . }}{{ range .SortedTypes }}{{ if .GVK }}{{ template "type" . }}{{ end }}{{ end }}{{ range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}{{ end }}
{{- end -}}

{{- define "type" }}{{ if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}
{{ template "messages" .Markers }}
{{- if .References }}
In: {{ range $i, $r := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $r }}{{ end }}
{{ end }}
{{- if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{- range .EnumValues }}
| `{{ .Name }}` | {{ trimSuffix "<br />" (markdownRenderFieldDoc .Doc) }} |
{{- end }}
{{ else if .Members }}
| Field | Type | Meaning | Default | Bounds |
| --- | --- | --- | --- | --- |
{{- if .GVK }}
| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | | |
| `kind` | string | `{{ .GVK.Kind }}` | | |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` | {{ template "fieldType" .Type }} | {{ template "doc" . }} | {{ markdownRenderDefault .Default }} | {{ template "bounds" . }} |
{{- end }}
{{ end }}
{{- end }}{{ end -}}

{{- /* The reference site has no page for these two. */ -}}
{{- define "fieldType" }}{{ if has .Name (list "UID" "RawExtension") }}{{ .Name }}{{ else }}{{ markdownRenderType . }}{{ end }}{{ end -}}

{{- define "doc" }}{{ if eq .Name "metadata" }}Standard object metadata.{{ else }}{{ regexReplaceAll "\\s+" (markdownRenderFieldDoc .Doc) " " | replace "<br />" " " | replace "<" "&lt;" }}{{ end }}{{ end -}}

{{- define "bounds" }}
{{- range .Validation }}{{ if not (or (contains "XValidation" .) (contains "Optional" .) (contains "Schemaless" .)) }}{{ replace ": {}" "" . | markdownRenderFieldDoc }}. {{ end }}{{ end }}
{{- range $name, $values := .Markers }}{{ if contains "XValidation" $name }}{{ range $values }}{{ markdownRenderFieldDoc .Message }}. {{ end }}{{ end }}{{ end }}
{{- end -}}

{{- define "messages" }}
{{- range $name, $values := . }}{{ if contains "XValidation" $name }}{{ range $values }}
- {{ .Message }}{{ end }}
{{ end }}{{ end }}
{{- end -}}
