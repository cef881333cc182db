package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The paths under which the API server asks.
const (
	MappingPath         = "/validate-restmappings"
	EndpointPath        = "/validate-restendpoints"
	ClusterEndpointPath = "/validate-clusterrestendpoints"
	CustomResourcePath  = "/validate-customresources"
)

// Server answers the API server once there is a certificate. It is a manager.Runnable, on every replica.
type Server struct {
	webhook.Server
	// Ready is closed when the certificate is in its place; nil when it is there from the start.
	Ready <-chan struct{}
}

// Judge knows what mappings mean.
type Judge interface {
	Previewer
	RuleJudge
}

// NewServer gives a server for all kinds.
func NewServer(options webhook.Options, scheme *runtime.Scheme, judge Judge, ready <-chan struct{}) *Server {
	s := &Server{Server: webhook.NewServer(options), Ready: ready}
	s.Register(MappingPath, admission.WithValidator(scheme, Mappings{judge}))
	s.Register(EndpointPath, admission.WithValidator(scheme, RestEndpoints()))
	s.Register(ClusterEndpointPath, admission.WithValidator(scheme, ClusterRestEndpoints()))
	s.Register(CustomResourcePath, &admission.Webhook{Handler: CustomResources{judge}})
	return s
}

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	if s.Ready != nil {
		select {
		case <-s.Ready:
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.Server.Start(ctx); err != nil {
		return fmt.Errorf("serve admission: %w", err)
	}
	return nil
}

// NeedLeaderElection tells a manager that every replica answers.
func (s *Server) NeedLeaderElection() bool { return false }
