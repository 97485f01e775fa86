"""The kind `github_workflow_run`, read from a GitHub whose answers are held to GitHub's own description."""
