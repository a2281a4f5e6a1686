from __future__ import annotations

from agent_node.policies.tiny.vocabulary import CODES, FIXED, code_token
from agent_node.policies.tiny.weights import shipped_weights
from tool_nodes.results import ErrorCode


def test_every_error_code_is_read_by_weights_that_were_trained_before_it_was_there() -> None:
    assert shipped_weights().vocabulary.tokens[: len(FIXED)] == FIXED
    assert {code_token(code) for code in ErrorCode} <= set(CODES)
    assert all(code_token(ErrorCode(code)) == code for code in CODES)
    assert code_token(ErrorCode.WRONG_OBJECT) == "EXECUTION_FAILED"
