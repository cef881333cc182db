// Package model holds no code of its own: its tests are an explicit-state model of operator processes, the API
// server, a REST server and the network between them. It drives lifecycle.Next, the code that ships, through every
// interleaving, and switches each safety rule off in turn to see that the model would notice. It must never become a
// second implementation of the decisions: what to do next comes from lifecycle alone.
package model
