"""The kind `http_json`: its subjects, rules, documents, reader and limits."""
