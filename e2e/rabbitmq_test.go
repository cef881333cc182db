//go:build e2e

package e2e_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/servers"
)

func number(value any) string {
	f, _ := value.(float64)
	return strconv.Itoa(int(f))
}

// TestRabbitMQ takes every kind of mappings/rabbitmq through its life against a real RabbitMQ.
func TestRabbitMQ(t *testing.T) {
	s := suite.New(t)
	rabbit, err := servers.StartRabbitMQ(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rabbit.Stop(); err != nil {
			t.Error(err)
		}
	})
	api := suite.NewAPI(t, rabbit.BaseURL, func(r *http.Request) { r.SetBasicAuth(rabbit.User, rabbit.Password) })
	s.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: rabbitmq, labels: {restmapping.dev/allow-read: "true"}}
stringData: {password: %s}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: rabbitmq}
spec:
  baseURL: %s
  auth: {basic: {username: %s, passwordRef: {name: rabbitmq, key: password}}}
  probe: {path: /whoami}
`, rabbit.Password, rabbit.BaseURL, rabbit.User)
	s.Kubectl("apply", "-f", "mappings/rabbitmq/rbac.yaml")
	s.Ready("restendpoint/rabbitmq")
	for kind, names := range map[string][2]string{
		"virtualhost": {"virtualhosts.rabbitmq.example.com", "rabbitmq-virtualhosts"},
		"user":        {"users.rabbitmq.example.com", "rabbitmq-users"},
		"permission":  {"permissions.rabbitmq.example.com", "rabbitmq-permissions"},
		"queue":       {"queues.rabbitmq.example.com", "rabbitmq-queues"},
		"policy":      {"policies.rabbitmq.example.com", "rabbitmq-policies"},
	} {
		install(t, s, "rabbitmq", kind, names[0], names[1])
	}
	for _, kind := range []string{"policy", "queue", "permission", "user", "virtualhost"} {
		s.Kubectl("apply", "-f", "mappings/rabbitmq/"+kind+"/sample.yaml")
	}
	resources := []string{
		"virtualhost.rabbitmq.example.com/team-a", "user.rabbitmq.example.com/orders", "permission.rabbitmq.example.com/team-a-orders",
		"queue.rabbitmq.example.com/orders", "policy.rabbitmq.example.com/orders-limit",
	}
	for _, resource := range resources {
		s.Ready(resource)
	}
	t.Run("the user can log in with the password of the Secret", func(t *testing.T) { rabbitLogin(t, rabbit, "change-me") })
	t.Run("a slash in a name is one segment", func(t *testing.T) { rabbitSlash(t, s, api) })
	t.Run("drift is put back", func(*testing.T) {
		api.Must(http.MethodPut, "/vhosts/team-a", `{"description":"by hand","tags":"x"}`)
		s.Eventually("virtual host", func() string {
			if got := api.Object("/vhosts/team-a")["description"]; got != "Everything of team A" {
				return "description is " + got.(string)
			}
			return ""
		})
		api.Must(http.MethodDelete, "/policies/team-a/orders-limit", "")
		s.Eventually("policy", func() string {
			if api.Object("/policies/team-a/orders-limit") == nil {
				return "it is not there"
			}
			return ""
		})
	})
	t.Run("a changed password arrives without a restart", func(t *testing.T) {
		s.Kubectl("patch", "secret/orders-rabbitmq", "--type=merge", "-p", `{"stringData":{"password":"changed-now"}}`)
		s.Eventually("login with the new password", func() string { return tryLogin(t, rabbit, "changed-now") })
	})
	for _, resource := range []string{"virtualhosts", "users", "permissions", "queues", "policies"} {
		s.Check(gvr("rabbitmq.example.com", resource))
	}
	t.Run("everything goes", func(t *testing.T) {
		s.Kubectl(append([]string{"delete", "--timeout=150s"}, resources...)...)
		if api.Object("/vhosts/team-a") != nil || api.Object("/users/orders") != nil {
			t.Error("something is still in RabbitMQ")
		}
	})
}

func tryLogin(t *testing.T, rabbit *servers.RabbitMQ, password string) string {
	t.Helper()
	api := suite.NewAPI(t, rabbit.BaseURL, func(r *http.Request) { r.SetBasicAuth("orders", password) })
	if status, _ := api.Do(http.MethodGet, "/whoami", ""); status != http.StatusOK {
		return "whoami answered " + strconv.Itoa(status)
	}
	return ""
}

func rabbitLogin(t *testing.T, rabbit *servers.RabbitMQ, password string) {
	t.Helper()
	if problem := tryLogin(t, rabbit, password); problem != "" {
		t.Error(problem)
	}
}

func rabbitSlash(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	s.Apply("apiVersion: rabbitmq.example.com/v1alpha1\nkind: Queue\nmetadata: {name: in-default}\nspec: {vhost: /, name: a/b}\n")
	s.Ready("queue.rabbitmq.example.com/in-default")
	if api.Object("/queues/%2F/a%2Fb") == nil {
		t.Error("the queue a/b is not in the virtual host /")
	}
	s.Kubectl("delete", "queue.rabbitmq.example.com/in-default", "--timeout=90s")
}
