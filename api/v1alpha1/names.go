package v1alpha1

// Names that the operator writes on custom resources, or reads from them.
const (
	// Finalizer keeps a custom resource until its object outside is gone or let go.
	Finalizer = Group + "/external-object"
	// RecordAnnotation holds what the operator must not forget about the object outside. Nobody else writes it.
	RecordAnnotation = Group + "/record"
	// SuspendAnnotation set to "true" stops everything but deletion.
	SuspendAnnotation = Group + "/suspend"
	// ReconcileAnnotation asks for a pass now; each new value is one request.
	ReconcileAnnotation = Group + "/reconcile"
	// RotateAnnotation asks for a new secret (operations.rotate); each new value is one request.
	RotateAnnotation = Group + "/rotate"
	// ForceUpdateAnnotation asks for one update although nothing differs; each new value is one request.
	ForceUpdateAnnotation = Group + "/force-update"
	// ResolveAnnotation is a person's answer when the outcome of a create is unknown: "absent@<attempt>" or
	// "adopt=<id>@<attempt>".
	ResolveAnnotation = Group + "/resolve"
	// AcknowledgeDeletionsAnnotation on a mapping lets deletions go on that are held back; its value is the time since when they
	// are, as the mapping's status says it.
	AcknowledgeDeletionsAnnotation = Group + "/acknowledge-deletions"
	// AcknowledgeChangeAnnotation on a mapping lets a generation serve that would change many objects outside; its value is the
	// generation's number.
	AcknowledgeChangeAnnotation = Group + "/acknowledge-change"
	// AllowReadLabel on a Secret, with the value "true", lets the operator read it.
	AllowReadLabel = Group + "/allow-read"
	// OutputLabel, with the value "true", is on every Secret and ConfigMap that the operator wrote as an output.
	OutputLabel = Group + "/output"
	// OutputVersionAnnotation on such an object is a number that grows with each change of its values.
	OutputVersionAnnotation = Group + "/output-version"
	// OutputAnnotation on such an object says which create its values are from. Nobody else writes it.
	OutputAnnotation = Group + "/output-of"
	// AllowTokenLabel on a ServiceAccount, with the value "true", lets endpoints of its namespace send its tokens.
	AllowTokenLabel = Group + "/allow-token"
	// MappingFinalizer keeps a mapping while custom resources still carry Finalizer.
	MappingFinalizer = Group + "/mapping-in-use"
	// EndpointFinalizer keeps an endpoint while custom resources have objects at its server.
	EndpointFinalizer = Group + "/endpoint-in-use"
)
