//go:build tools

// Package capi pins the program that build.sh builds; it is never compiled itself.
package capi

import _ "sigs.k8s.io/cluster-api/core"
