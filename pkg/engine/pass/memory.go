package pass

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/mapping"
)

// memory is what this process knows about one custom resource beyond what is persisted. Losing it costs time, never
// safety: every field's zero value is the careful one.
type memory struct {
	uid types.UID
	// written is the object as this process wrote it last. It stands in for the cache until that has caught up:
	// acting on an older version is how objects get doubled.
	written *fleet.Object
	// attempt is the create attempt that attemptSince is about.
	attempt      sentAttempt
	attemptSince time.Time
	// keyRefused is the attempt whose create the server has refused when it was sent again with its idempotency key.
	keyRefused string
	// recordText is the record as this process last wrote or saw it; foreignSince is since when it knows of one that
	// it did not write. first tells that this process wrote the first intent of all.
	recordText   string
	foreignSince time.Time
	first        bool
	// createAnswered tells that the server's answer to that attempt is known.
	createAnswered bool
	// createdHere tells that this process made the object, seenEver that a look has found it since it was made.
	createdHere, seenEver bool
	// lookedAt tells that a request for the object itself has found it since; the answer to a create proves nothing
	// about the path of the read.
	lookedAt bool
	// confirmed tells that the object outside was seen, or its creation confirmed.
	confirmed bool
	// lastWrite is when the last create or update was sent; seenSince that the object was observed after it.
	lastWrite time.Time
	seenSince bool
	// writeOnly is a keyed hash of the write-only values that the server is known to have.
	writeOnly string
	// acceptedGeneration and acceptedProgram are those of the last update that the server accepted.
	acceptedGeneration int64
	acceptedProgram    *mapping.Program
	// fruitless counts the updates in a row that were accepted for one and the same difference.
	fruitless fruitless
	// openUntil is until when a request whose answer was lost may still take effect.
	openUntil time.Time
	// requestTime is the endpoint's timeout as last seen.
	requestTime time.Duration
	// outputs is what is known of each output.
	outputs map[outputs.Ref]outputMemory
	// owed is the pass that made an object which no write has followed yet.
	owed *run
	// absentAt is when the object was first found absent, of looks that all found it absent.
	absentAt time.Time
	// steppedAt is when a request that comes before the delete was sent last.
	steppedAt time.Time
	// operation is what this process knows of the operation that the record names.
	operation operationMemory
	// reported are the paths of the differences that were reported last.
	reported []string
	// generation is the one that was looked at last, changedAt since when it has not been ready; zero when that is over, or
	// not known.
	generation int64
	changedAt  time.Time
	// failures counts looks that failed in a row; goodAt is when the last one worked.
	failures int
	goodAt   time.Time
	// parts is what is known of each object of the parts, by part and key.
	parts map[string]map[string]*partMemory
	// partFailures counts lists of parts that failed in a row; partsGoodAt is when all of them worked last.
	partFailures int
	partsGoodAt  time.Time
}

// sentAttempt is an attempt as often as it was sent.
type sentAttempt struct {
	name    string
	resends int
}

// memories holds the memory of each custom resource of a mapping.
type memories struct {
	mu sync.Mutex
	m  map[types.NamespacedName]*memory
}

func newMemories() *memories { return &memories{m: map[types.NamespacedName]*memory{}} }

// of gives the memory for this object; a new UID starts from nothing. former is the UID of the custom resource that had
// this name before, and is gone, without anybody having told; empty for none. A key is worked on by one worker at a time,
// so the memory itself needs no lock.
func (s *memories) of(key types.NamespacedName, uid types.UID) (m *memory, former types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.m[key]
	if ok && found.uid == uid {
		return found, ""
	}
	if ok {
		former = found.uid
	}
	fresh := &memory{uid: uid}
	s.m[key] = fresh
	return fresh, former
}

// peek gives the memory for this key, nil when there is none.
func (s *memories) peek(key types.NamespacedName) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[key]
}

func (s *memories) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, key)
}

func (s *memories) each(do func(*memory)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.m {
		do(m)
	}
}

// freshest gives the newer of the cached object and the one written last.
func (m *memory) freshest(cached *fleet.Object) *fleet.Object {
	if m.written == nil || m.written.GetUID() != cached.GetUID() {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), m.written.GetResourceVersion())
	if err != nil || order >= 0 {
		m.written = nil
		return cached
	}
	return m.written
}
