"""The kind `github_pull_request`, read from a GitHub that executes its queries against GitHub's own schema."""
