"""Episodes in verl 0.9: agent loops that own a whole rollout, its images and its reward. Importing this needs verl.

| `agent_name` | the policy writes | tools |
|---|---|---|
| `toolhand` | whole turns in the form of a protocol, e.g. a paper's | in the system prompt |
| `toolhand_tools` | calls as its chat template has them; verl parses them | of `tool_config_path`, each a SessionTool |

`toolhand.training.adapters.verl_files` writes the YAML files and rows that select them. The reward is the session's
score, made inside the loop, so verl calls no reward function.

A rollout that has no score, since a tool broke or ran out of its time, is dropped by itself: the loop returns no
output, so verl's trainer V1 keeps no row of it, its group is that much smaller, and padding fills the batch. Whatever
else goes wrong is raised: then verl marks the whole group as failed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from PIL import Image

from toolhand.agent_node.policies.chat import ToolNames, text_turns
from toolhand.agent_node.policy import Message, Reply
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.training.adapters.endings import counts_of, say_last, terms_of
from toolhand.training.adapters.environments import require_engine
from toolhand.training.adapters.episodes import NOT_SCORED, Episodes, require_sound, shared_episodes, words_of
from toolhand.training.adapters.turns import turn_document
from toolhand.training.env.session import EpisodeSession

with require_engine("verl"):
    from pydantic import ConfigDict
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register
    from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
    from verl.tools.base_tool import BaseTool
    from verl.tools.schemas import (
        OpenAIFunctionParametersSchema,
        OpenAIFunctionPropertySchema,
        OpenAIFunctionSchema,
        OpenAIFunctionToolSchema,
        ToolResponse,
    )

_log = logging.getLogger(__name__)

_SESSION = "toolhand session"
"""Where a rollout's session lies in `AgentData.tools_kwargs`."""


# -- whole turns in a protocol's form ------------------------------------------------------------------


@dataclass
class _Stream:
    """A rollout's tokens, append-only.

    Attributes:
        ids: Prompt and response.
        mask: Mask of the response: 1 on tokens that the policy sampled.
        logprobs: Log-probabilities of the response, 0 where nothing was sampled; None where the server gives none.
        messages: The conversation as the chat template takes it.
        turns: Documents of its turns.
    """

    ids: list[int]
    messages: list[dict[str, Any]]
    images: list[Image.Image]
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = None
    turns: list[dict[str, Any]] = field(default_factory=list)


@register("toolhand")
class EpisodeLoop(AgentLoopBase):  # type: ignore[misc, unused-ignore]
    """One rollout: the policy says whole turns, and reads what they brought.

    Rows have `extra_info.task`, a task's document, and `extra_info.seed`, that of the station. The conversation is the
    session's: system prompt and question come from it, whatever prompt the row has.

    Args:
        settings: Settings of `toolhand.training.adapters.episodes.Episodes`.
        turn_tokens: Longest turn [tokens]; as long as the response where None.
    """

    def __init__(
        self,
        *args: Any,
        settings: Mapping[str, Any] | None = None,
        turn_tokens: int | None = None,
        tools: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._episodes = shared_episodes(_plain(settings))
        self._turn_tokens = turn_tokens
        self._longest = int(self.rollout_config.response_length)
        self._sees = self.processor is not None and self.continuous_token_builder.supports_multimodal()

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:
        """One rollout; an empty list where it is dropped. Raises ToolError for a row or a length that cannot work."""
        try:
            with await asyncio.to_thread(open_row, self._episodes, row) as session:
                return await self._played(session, dict(sampling_params), _request_id(self.rollout_config, row))
        except ToolError as error:
            return dropped(error)

    async def _played(self, session: EpisodeSession, sampling: dict[str, Any], request: str) -> AgentLoopOutput:
        stream = await self._begun(session.messages())
        prompt, unread = len(stream.ids), session.messages()
        metrics = {"generate_sequences": 0.0, "tool_calls": 0.0, "num_preempted": -1}
        versions: dict[str, Any] = {}
        while not session.done and len(stream.mask) < self._longest:
            began = time.monotonic()
            output = await self.server_manager.generate(
                request_id=request,
                prompt_ids=stream.ids,
                sampling_params=sampling | {"max_tokens": self._room(stream)},
                image_data=stream.images or None,
                mm_processor_kwargs=self._get_mm_processor_kwargs(),
            )
            metrics["generate_sequences"] += time.monotonic() - began
            if not output.token_ids:
                raise unavailable(f"The model server gave no token ({output.stop_reason}).")
            versions = dict(output.extra_fields) | {
                name: versions[name] for name in ("min_global_steps",) if versions.get(name) is not None
            }
            await self._add_turn(stream, output, unread)
            began = time.monotonic()
            said = await asyncio.to_thread(session.say, self._reply(output))
            metrics["tool_calls"] += time.monotonic() - began
            require_sound(session)
            unread = said.messages
            if said.done or not await self._add_answer(stream, self._text(output), unread):
                break
        score = await asyncio.to_thread(session.score)
        return AgentLoopOutput(
            prompt_ids=stream.ids[:prompt],
            response_ids=stream.ids[prompt:][: self._longest],
            response_mask=stream.mask[: self._longest],
            response_logprobs=None if stream.logprobs is None else stream.logprobs[: self._longest],
            multi_modal_data={"images": stream.images} if stream.images else {},
            mm_processor_kwargs=self._get_mm_processor_kwargs(),
            reward_score=float(score.total),
            num_turns=len(stream.messages) + 1,
            metrics=AgentLoopMetrics(**metrics),
            extra_fields=versions | described(session) | {"turns": stream.turns},
        )

    async def _begun(self, conversation: Sequence[Message]) -> _Stream:
        """The prompt. Raises ToolError INVALID_ARGUMENT where it is longer than it may be: verl would cut it."""
        messages, images = chat_messages(conversation, self._sees)
        builder = self.continuous_token_builder
        ids = await asyncio.to_thread(lambda: builder.build_initial_tokens(messages, images=images or None))
        longest = int(self.rollout_config.prompt_length)
        if len(ids) > longest:
            raise invalid(
                f"The prompt has {len(ids)} tokens, data.max_prompt_length allows {longest}.",
                "Raise it, or give fewer suites or smaller pictures.",
            )
        return _Stream(list(ids), messages, images)

    def _room(self, stream: _Stream) -> int:
        room = self._longest - len(stream.mask)
        return room if self._turn_tokens is None else min(room, self._turn_tokens)

    async def _add_turn(self, stream: _Stream, output: Any, answered: Sequence[Message]) -> None:
        logprobs = output.log_probs or None
        if logprobs is not None and stream.logprobs is None:
            stream.logprobs = [0.0] * len(stream.mask)
        merged, mask, known = await self.ct_merge_assistant_token(
            stream.ids, output.token_ids, stream.mask, stream.logprobs, assistant_logprobs=logprobs
        )
        start = len(mask) - len(output.token_ids)
        stream.turns.append(turn_document(answered, start, len(mask)))
        stream.ids, stream.mask, stream.logprobs = list(merged.token_ids), mask, known

    async def _add_answer(self, stream: _Stream, turn: str, answer: Sequence[Message]) -> bool:
        """What the policy reads next; False where the response has no room for it, and nothing was added."""
        ids, mask, logprobs = list(stream.ids), list(stream.mask), stream.logprobs
        if (
            ids[-1] not in _ends(self.tokenizer) and self.tokenizer.eos_token_id is not None
        ):  # a turn that was cut is ended for it
            ids.append(self.tokenizer.eos_token_id)
            mask.append(0)
            logprobs = None if logprobs is None else [*logprobs, 0.0]
        read, images = chat_messages(answer, self._sees)
        before = [*stream.messages, {"role": "assistant", "content": turn}]
        merged, mask, logprobs = await self.ct_merge_context_msg(before, [*before, *read], ids, mask, logprobs)
        if len(mask) >= self._longest:
            return False
        stream.ids, stream.mask, stream.logprobs = list(merged.token_ids), mask, logprobs
        stream.messages, stream.images = [*before, *read], [*stream.images, *images]
        return True

    def _reply(self, output: Any) -> Reply:
        return Reply(self._text(output), token_ids=tuple(output.token_ids), logprobs=tuple(output.log_probs or ()))

    def _text(self, output: Any) -> str:
        return spoken(self.tokenizer, output.token_ids)


# -- calls that verl parses ----------------------------------------------------------------------------


@register("toolhand_tools")
class ToolEpisodeLoop(ToolAgentLoop):  # type: ignore[misc, unused-ignore]
    """verl's own tool loop on an episode: its parser reads the calls, its limits of length and turns hold.

    Words without a call are the answer. Set `multi_turn.max_tool_response_length` high: verl cuts what tools say after
    256 characters otherwise.

    Args:
        settings: Settings of `toolhand.training.adapters.episodes.Episodes`; the protocol is `native`.
    """

    def __init__(self, *args: Any, settings: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._episodes = shared_episodes({"protocol": "native"} | _plain(settings))
        self._episodes.require_native("The chat template lists the tools")
        self._sees = self.processor is not None and self.continuous_token_builder.supports_multimodal()

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:
        """As of EpisodeLoop."""
        try:
            with await asyncio.to_thread(open_row, self._episodes, row) as session:
                messages, _ = chat_messages(session.messages(), self._sees)
                state = _ToolState(session, self._sees)
                given = row | {"raw_prompt": messages, "tools_kwargs": {_SESSION: state}}
                output = await super().run(sampling_params, **given)
                output.reward_score = float((await asyncio.to_thread(session.score)).total)
                output.extra_fields |= described(session)
                return output
        except ToolError as error:
            return dropped(error)

    async def process_multi_modal_info(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The images as they are: verl would scale those of the prompt, and those of tools not."""
        parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
        images = [part["image"] for part in parts if part["type"] == "image"]
        return {"images": images} if images else {}

    async def _handle_generating_state(self, agent_data: AgentData, *args: Any, **kwargs: Any) -> AgentState:
        state = await super()._handle_generating_state(agent_data, *args, **kwargs)
        last = agent_data.messages[-1]
        if state is AgentState.TERMINATED and last["role"] == "assistant" and not agent_data.tool_calls:
            words = {"role": "assistant", "content": spoken(self.tokenizer, agent_data.response_ids)}
            await asyncio.to_thread(say_last, _session_of(agent_data).session, words)
        return state

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        state = await super()._handle_processing_tools_state(agent_data)
        session = _session_of(agent_data).session
        require_sound(session)
        return AgentState.TERMINATED if session.done else state


@dataclass
class _ToolState:
    """A rollout's session; its calls come one after the other. A model without eyes is given words alone."""

    session: EpisodeSession
    sees: bool
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SessionTool(BaseTool):  # type: ignore[misc, unused-ignore]
    """One tool of the toolbox; each rollout has its own session, so the tool itself holds nothing.

    Args:
        config: `schema`, the JSON schema of the tool with its name as models write it.
        tool_schema: Not read: verl's own form of a schema knows no alternatives, items and bounds.
    """

    def __init__(self, config: dict[str, Any], tool_schema: Any = None) -> None:
        super().__init__(config, WholeSchema.model_validate(config["schema"]))

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Call the tool. What the policy got wrong comes back as words; there is no reward before the end."""
        state = _session_of(kwargs["agent_data"])
        async with state.lock:
            if state.session.done:
                return ToolResponse(text="Not run: the episode is over."), 0.0, {}
            name = ToolNames(state.session.tools()).ours(self.name)
            result = await asyncio.to_thread(state.session.call, name, parameters)
        images = [Image.fromarray(rgb) for rgb in result.images] if state.sees else []
        shown = {"image": images} if images else {}
        code = "" if result.error_code is None else str(result.error_code)
        return ToolResponse(text=words_of(result), **shown), 0.0, {"error_code": code}


class _Property(OpenAIFunctionPropertySchema):  # type: ignore[misc, unused-ignore]
    model_config = ConfigDict(extra="allow")
    type: str | list[str] | None = None


class _Parameters(OpenAIFunctionParametersSchema):  # type: ignore[misc, unused-ignore]
    model_config = ConfigDict(extra="allow")
    properties: dict[str, _Property]


class _Function(OpenAIFunctionSchema):  # type: ignore[misc, unused-ignore]
    parameters: _Parameters


class WholeSchema(OpenAIFunctionToolSchema):  # type: ignore[misc, unused-ignore]
    """A tool's schema with all that JSON Schema says, where verl's own keeps type, description and enum alone."""

    function: _Function


def _session_of(agent_data: AgentData) -> _ToolState:
    state: _ToolState = agent_data.tools_kwargs[_SESSION]
    return state


# -- both ----------------------------------------------------------------------------------------------


def open_row(episodes: Episodes, row: Mapping[str, Any]) -> EpisodeSession:
    """The episode of a row of verl's data set; `session_id` is which of its group it is."""
    return episodes.open(row.get("extra_info") or {}, int(row.get("session_id", 0)))


def dropped(error: ToolError) -> list[AgentLoopOutput]:
    """No output, for a rollout that has no score. Raises any error that is not of that kind."""
    if error.code not in NOT_SCORED:
        raise error
    _log.warning("A rollout is dropped: %s: %s", error.code, error)
    return []


def described(session: EpisodeSession) -> dict[str, Any]:
    """What is kept beside a rollout's tokens, plain data. The keys that verl's own loops give are there, too."""
    code = session.episode.error_code
    beside = {"terms": terms_of(session), "ended_with": "" if code is None else str(code)}
    return {"turn_scores": [], "tool_rewards": [], "reward_extra_info": counts_of(session), **beside}


def spoken(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """The text of a turn, without the tokens that end it."""
    ids = list(token_ids)
    while ids and ids[-1] in _ends(tokenizer):
        ids.pop()
    return str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _ends(tokenizer: Any) -> set[int]:
    return {tokenizer.eos_token_id, tokenizer.pad_token_id} - {None}


def chat_messages(conversation: Sequence[Message], sees: bool) -> tuple[list[dict[str, Any]], list[Image.Image]]:
    """Messages as chat templates take them, images among the words where the model sees; and the images."""
    messages: list[dict[str, Any]] = []
    images: list[Image.Image] = []
    for turn in text_turns(conversation):
        if not sees or all(isinstance(part, str) for part in turn.parts):
            words = "".join(part for part in turn.parts if isinstance(part, str))
            messages.append({"role": turn.role, "content": words})
            continue
        content: list[dict[str, Any]] = []
        for part in turn.parts:
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
            else:
                images.append(Image.fromarray(part))
                content.append({"type": "image", "image": images[-1]})
        messages.append({"role": turn.role, "content": content})
    return messages, images


def _request_id(config: Any, row: Mapping[str, Any]) -> str:
    determined = bool(getattr(config, "full_determinism", False))
    return f"det-{int(row.get('priority', 0))}" if determined else uuid4().hex


def _plain(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings as hydra gives them, without its own containers."""
    return {
        str(name): list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for name, value in dict(settings or {}).items()
    }
