"""A real Kubernetes control plane for tests: nothing here is imported by what Vigil ships."""
