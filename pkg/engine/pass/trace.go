package pass

import (
	"cmp"
	"context"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// The attributes of a pass. Their values are names from the cluster and closed sets: never a message, which may hold a server's
// words, and never a value of a specification or of an identifier.
const (
	mappingAttribute    = attribute.Key("restmapping.mapping")
	kindAttribute       = attribute.Key("restmapping.kind")
	nameAttribute       = attribute.Key("restmapping.name")
	generationAttribute = attribute.Key("restmapping.generation")
	deletingAttribute   = attribute.Key("restmapping.deleting")
	outcomeAttribute    = attribute.Key("restmapping.outcome")
	reasonAttribute     = attribute.Key("restmapping.reason")
	driftedAttribute    = attribute.Key("restmapping.drifted")
	stepAttribute       = attribute.Key("restmapping.step")
)

// traced is the span of one pass; the zero value is none.
type traced struct{ span trace.Span }

// trace begins the span of a pass. What is logged below names it when it is sampled.
func (r *Reconciler) trace(ctx context.Context, key types.NamespacedName) (context.Context, traced) {
	if r.Tracer == nil {
		return ctx, traced{}
	}
	program := r.Program()
	list := []attribute.KeyValue{
		mappingAttribute.String(program.Name()), kindAttribute.String(program.Kind()), nameAttribute.String(key.Name),
	}
	if key.Namespace != "" {
		list = append(list, semconv.K8SNamespaceName(key.Namespace))
	}
	ctx, span := r.Tracer.Start(ctx, "pass "+program.Name(), trace.WithNewRoot(), trace.WithAttributes(list...))
	if made := span.SpanContext(); made.IsSampled() {
		log := logr.FromContextOrDiscard(ctx).WithValues("trace_id", made.TraceID().String(), "span_id", made.SpanID().String())
		ctx = logr.NewContext(ctx, log)
	}
	return ctx, traced{span}
}

// object says what the custom resource is that the pass found.
func (t traced) object(obj *fleet.Object) {
	if t.span == nil || !t.span.IsRecording() {
		return
	}
	t.span.SetAttributes(generationAttribute.Int64(obj.GetGeneration()), deletingAttribute.Bool(obj.GetDeletionTimestamp() != nil))
}

// end finishes the span. The result is told the trace's name, so that the queue's line in the log holds it.
func (t traced) end(result *queue.Result) {
	if t.span == nil {
		return
	}
	if made := t.span.SpanContext(); made.IsSampled() {
		result.Trace = made.TraceID().String()
	}
	if result.Err != nil {
		// The text of an error may hold what a server said.
		t.span.SetAttributes(semconv.ErrorTypeKey.String(errorType(result.Err)))
		t.span.SetStatus(codes.Error, "")
	}
	t.span.End()
}

func errorType(err error) string {
	if _, ok := asRetry(err); ok {
		return "Retry"
	}
	return cmp.Or(string(apierrors.ReasonForError(err)), "_OTHER")
}

// traceStep tells the span which step is carried out.
func traceStep(ctx context.Context, step lifecycle.Step) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("step", trace.WithAttributes(stepAttribute.String(string(step.Action))))
	}
}

// traceEnd tells the span how the pass ended.
func traceEnd(ctx context.Context, s Summary) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(outcomeAttribute.String(s.End), reasonAttribute.String(s.Reason), driftedAttribute.Bool(s.Drifted))
	if s.End == string(lifecycle.Stall) || s.End == string(lifecycle.Retry) {
		span.SetStatus(codes.Error, s.Reason)
	}
}
