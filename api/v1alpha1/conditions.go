package v1alpha1

// Condition types. Ready and Synced stand always on a custom resource; Reconciling and Stalled only while true, as
// kstatus reads them.
const (
	// ConditionReady: the object outside exists as specified and is usable.
	ConditionReady = "Ready"
	// ConditionSynced: the last look found, or the last write made, the object as specified.
	ConditionSynced = "Synced"
	// ConditionReconciling: the operator is at work or will try again by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: no retry will help; a person must change something.
	ConditionStalled = "Stalled"

	// ConditionThrottled, on an endpoint: the server asked for fewer requests and does not get the full rate yet. It
	// stands only while true.
	ConditionThrottled = "Throttled"

	// ConditionTargetIdentityChanged, on an endpoint and only while true: custom resources have their objects at a server to
	// which it led before.
	ConditionTargetIdentityChanged = "TargetIdentityChanged"

	// ConditionAccepted, on a mapping: its newest generation compiled.
	ConditionAccepted = "Accepted"
	// ConditionTargetCompatible, on a mapping: the target's CRD exists and its status can hold what is written.
	ConditionTargetCompatible = "TargetCompatible"
	// ConditionWatching, on a mapping: its custom resources are being watched.
	ConditionWatching = "Watching"
)

// Reasons of the conditions of custom resources.
const (
	ReasonAvailable             = "Available"
	ReasonInSync                = "InSync"
	ReasonCreating              = "Creating"
	ReasonUpdating              = "Updating"
	ReasonDeleting              = "Deleting"
	ReasonReplacing             = "Replacing"
	ReasonDeletionHeld          = "DeletionHeld"
	ReasonDriftReported         = "DriftReported"
	ReasonExternalNotReady      = "ExternalNotReady"
	ReasonObserveOnly           = "ObserveOnly"
	ReasonSuspended             = "Suspended"
	ReasonProgressing           = "Progressing"
	ReasonProgressingWithRetry  = "ProgressingWithRetry"
	ReasonWaitingForSettle      = "WaitingForSettle"
	ReasonWaitingForOperation   = "WaitingForOperation"
	ReasonOperationFailed       = "OperationFailed"
	ReasonOperationTimedOut     = "OperationTimedOut"
	ReasonWaitingForServer      = "WaitingForServer"
	ReasonWaitingForAbsence     = "WaitingForAbsence"
	ReasonEndpointNotFound      = "EndpointNotFound"
	ReasonEndpointNotAllowed    = "EndpointNotAllowed"
	ReasonEndpointNotReady      = "EndpointNotReady"
	ReasonEndpointUnreachable   = "EndpointUnreachable"
	ReasonAddressNotAllowed     = "AddressNotAllowed"
	ReasonCircuitOpen           = "CircuitOpen"
	ReasonSecretNotFound        = "SecretNotFound"
	ReasonSecretNotAllowed      = "SecretNotAllowed"
	ReasonReferenceNotFound     = "ReferenceNotFound"
	ReasonReferenceNotReady     = "ReferenceNotReady"
	ReasonReferenceCycle        = "ReferenceCycle"
	ReasonWaitingForDependents  = "WaitingForDependents"
	ReasonUnauthorized          = "Unauthorized"
	ReasonThrottled             = "Throttled"
	ReasonServerError           = "ServerError"
	ReasonObservationFailed     = "ObservationFailed"
	ReasonProbeFailed           = "ProbeFailed"
	ReasonExpressionFailed      = "ExpressionFailed"
	ReasonRuleViolated          = "RuleViolated"
	ReasonRequestRejected       = "RequestRejected"
	ReasonConflict              = "Conflict"
	ReasonCreateOutcomeUnknown  = "CreateOutcomeUnknown"
	ReasonAmbiguousMatch        = "AmbiguousMatch"
	ReasonIdentityConflict      = "IdentityConflict"
	ReasonNotAdoptable          = "NotAdoptable"
	ReasonExternalMissing       = "ExternalMissing"
	ReasonTargetIdentityChanged = "TargetIdentityChanged"
	ReasonImmutableFieldChanged = "ImmutableFieldChanged"
	ReasonUpdateIneffective     = "UpdateIneffective"
	ReasonRecordLost            = "RecordLost"
	ReasonRecordForeign         = "RecordForeign"
	ReasonOutputConflict        = "OutputConflict"
	ReasonOutputLost            = "OutputLost"
	ReasonOutputNotWritten      = "OutputNotWritten"
	ReasonRecordForged          = "RecordForged"
	ReasonRecordNewer           = "RecordNewer"
	ReasonRecordUnverified      = "RecordUnverified"
	ReasonInternalError         = "InternalError"
)

// Reasons of the conditions of mappings and endpoints.
const (
	ReasonCompiled            = "Compiled"
	ReasonInvalidExpressions  = "InvalidExpressions"
	ReasonCRDNotFound         = "CRDNotFound"
	ReasonCRDTerminating      = "CRDTerminating"
	ReasonVersionNotServed    = "VersionNotServed"
	ReasonStatusSchemaMissing = "StatusSchemaMissing"
	ReasonScopeMismatch       = "ScopeMismatch"
	ReasonCompatible          = "Compatible"
	ReasonTargetConflict      = "TargetConflict"
	ReasonRBACMissing         = "RBACMissing"
	ReasonSyncing             = "Syncing"
	ReasonWatchFailed         = "WatchFailed"
	ReasonWatching            = "Watching"
	ReasonServing             = "Serving"
	ReasonServingPrevious     = "ServingPrevious"
	ReasonPlanPending         = "PlanPending"
	ReasonChangeHeld          = "ChangeHeld"
	ReasonChangeUnknown       = "ChangeUnknown"
	ReasonInUse               = "InUse"
	ReasonProbeSucceeded      = "ProbeSucceeded"
	ReasonConfigured          = "Configured"
	ReasonInvalidEndpoint     = "InvalidEndpoint"

	ReasonServiceAccountNotFound   = "ServiceAccountNotFound"
	ReasonServiceAccountNotAllowed = "ServiceAccountNotAllowed"
	ReasonVaultDenied              = "VaultDenied"
	ReasonVaultUnavailable         = "VaultUnavailable"
)
