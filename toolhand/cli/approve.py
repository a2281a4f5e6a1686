"""`toolhand approve`: the operator's terminal for the motions of a graph that asks before it moves."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

from toolhand.agent_node.console.approve import TerminalApprover
from toolhand.agent_node.console.terminal import say
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros.client import use_client


def approve(token_file: Path | None = None, once: bool = False) -> int:
    """Show each motion that a ROS 2 graph asks about, and answer with y or n at this terminal, until Ctrl-C.

    The operator's token is that of --token-file, of TOOLHAND_APPROVAL_TOKEN in the environment, or that of this user's
    own graphs; it is never sent. Requests of others that pretend to be the motion node are not shown.

    Args:
        token_file: The file that the motion node's parameter approval_token_file names.
        once: End with the first answer; exit status 1 if it was not taken.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise invalid("Motions are approved at a terminal, and this is none.", "Run it in one.")
    use_client()
    from toolhand.agent_node.ros.approve import approve_motions
    from toolhand.tool_nodes.ros.link import RosLink
    from toolhand.tool_nodes.ros.proofs import operators_token

    token = operators_token(token_file).token
    token = token or getpass.getpass("approval token (as the motion node has shown it): ").strip()
    if not token:
        raise invalid("There is no token.", "The motion node shows it when it starts.")
    with RosLink({}) as link:
        taken = approve_motions(
            link,
            token,
            lambda deadline_s, withdrawn: TerminalApprover(interrupted=withdrawn, deadline_s=deadline_s),
            say,
            once,
        )
    return 0 if taken else 1
