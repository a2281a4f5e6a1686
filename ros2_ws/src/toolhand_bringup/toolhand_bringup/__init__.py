"""Empty on purpose: the nodes live in `tool_nodes`, `sim` and `agent_node`."""
