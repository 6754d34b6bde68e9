# SPDX-License-Identifier: Apache-2.0
"""OpenAI's routes on a cluster of Ray: replicas of a model, as many as the load needs.

    pip install "ray[serve]" PATH_OF_TULLE/bindings/python
    serve run ray_serve:build model=MODEL threads=4 max_replicas=8
    curl http://127.0.0.1:8000/v1/chat/completions -H "Content-Type: application/json" \\
      -d '{"messages": [{"role": "user", "content": "Hello"}], "stream": true}'

Prompts that begin alike go to one replica, which has computed their beginning. A text depends on the model, the prompt and the
seed alone: so an answer whose replica dies goes on at another one, where it was. A replica generates one text at a time; for
many at once on one machine `tulle serve` is faster, as it computes them in one batch, and it has structured output and tools.
On GPUs use vLLM: what `tulle export MODEL -o DIR` writes runs there."""
import asyncio
import hashlib
import json
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from ray import serve
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.config import AutoscalingConfig, RequestRouterConfig
from ray.serve.request_router import RequestRouter

PREFIX = 256  # characters that decide where a prompt goes
READ = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens", "temperature": "temperature",
        "top_p": "top_p", "seed": "seed", "stop": "stop", "ignore_eos": "force_max_tokens",
        "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty"}
BESIDE = {"model", "messages", "prompt", "stream", "stream_options", "user", "n", "store", "metadata"}


def options_of(body):
    """The arguments of a pipeline. Errors: ValueError for what is not done here."""
    unknown = [name for name, value in body.items() if value is not None and name not in READ.keys() | BESIDE]
    if unknown or body.get("n") not in (None, 1):
        raise ValueError(f"\"{unknown[0] if unknown else 'n'}\" is not done here; `tulle serve` has it")
    options = {READ[name]: value for name, value in body.items() if name in READ and value is not None}
    options.setdefault("seed", random.getrandbits(31))  # drawn here: a text that goes on elsewhere is the same
    options["do_sample"] = options.get("temperature", 1) > 0
    return options


def prefix_of(body):
    return json.dumps(body.get("messages", body.get("prompt", "")))[:PREFIX]


def ranked(prefix, names):
    """The names in the order in which a prefix prefers them. Another name changes the first choice of few prefixes."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{prefix}\0{name}".encode()).digest())


class PrefixRouter(RequestRouter):
    """To the replica that a prompt's beginning prefers, or, where that has enough to do, to the next."""

    async def choose_replicas(self, candidate_replicas, pending_request=None):
        replicas = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        prefix = prefix_of(pending_request.args[0]) if pending_request and pending_request.args else ""
        return [[replicas[name]] for name in ranked(prefix, replicas)]


@serve.deployment
class Model:
    """One replica: a model on its own threads."""

    def __init__(self, model, threads, sequence_length):
        from tulle import TextGeneration

        length = {"sequence_length": sequence_length} if sequence_length else {}
        self.pipeline = TextGeneration(model, num_cores=threads, cache="paged", share_prefixes=True, **length)
        self.turn = ThreadPoolExecutor(max_workers=1)

    async def generate(self, body, options):
        """Gives {"prompt_tokens", "replica"}, then {"text", "tokens", "finish_reason"} for each piece. Errors: ValueError."""
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue()
        replica = serve.get_replica_context().replica_id.unique_id
        left = False

        def run():
            try:
                prompt = self.prompt_of(body)
                loop.call_soon_threadsafe(pieces.put_nowait, {"prompt_tokens": len(prompt), "replica": replica})
                stream = self.pipeline(prompt, streaming=True, **options)
                for output in stream:
                    (text,) = output.generations
                    piece = {"text": text.text, "tokens": len(text.tokens), "finish_reason": text.finished_reason}
                    loop.call_soon_threadsafe(pieces.put_nowait, piece)
                    if left:
                        stream.close()
                loop.call_soon_threadsafe(pieces.put_nowait, None)
            except Exception as error:
                refused = error if isinstance(error, ValueError) else ValueError(str(error))
                loop.call_soon_threadsafe(pieces.put_nowait, refused)

        self.turn.submit(run)
        try:
            while (piece := await pieces.get()) is not None:
                if isinstance(piece, ValueError):
                    raise piece
                yield piece
        finally:
            left = True

    def prompt_of(self, body):
        """Ids."""
        tokenizer = self.pipeline.tokenizer
        if "messages" in body:
            messages = [{"role": each["role"], "content": each["content"]} for each in body["messages"]]
            return tokenizer.apply_chat_template(messages, add_generation_prompt=True)
        return tokenizer.encode(body["prompt"])


async def generated(replicas, body, options, patience=10):
    """The pieces of `Model.generate`. Where a replica dies, another one begins anew, and what was given is left out."""
    given = 0  # pieces
    while True:
        try:
            number = 0
            async for piece in replicas.generate.remote(body, options):
                number += 1
                if number > given:
                    given = number
                    yield piece
            return
        except RayActorError:
            patience -= 1
            if patience < 0:
                raise
            await asyncio.sleep(0.5)  # until Ray knows


def finish_reason(reason):
    return reason if reason in (None, "stop") else "length"


def totals(usage):
    return {**usage, "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"]}


app = FastAPI(title="Tulle on Ray")


@serve.deployment
@serve.ingress(app)
class Routes:
    def __init__(self, replicas, name):
        self.replicas = replicas.options(stream=True)
        self.name = name

    @app.get("/v1/models")
    async def models(self):
        return {"object": "list", "data": [{"id": self.name, "object": "model", "owned_by": "tulle"}]}

    @app.post("/v1/completions")
    async def completions(self, request: Request):
        as_text = lambda text: {"text": text}  # noqa: E731
        return await self.answer(request, "text_completion", as_text, as_text)

    @app.post("/v1/chat/completions")
    async def chat(self, request: Request):
        return await self.answer(request, "chat.completion",
                                 lambda text: {"message": {"role": "assistant", "content": text}},
                                 lambda text: {"delta": {"role": "assistant", "content": text}})

    async def answer(self, request, form, whole, part):
        head = {"id": "tulle-" + uuid.uuid4().hex, "created": int(time.time()), "model": self.name}
        try:
            body = await request.json()
            if not isinstance(body, dict):
                raise ValueError("the body must be a JSON object")
            pieces = generated(self.replicas, body, options_of(body))
            first = await anext(pieces)
            usage, headers = {"prompt_tokens": first["prompt_tokens"], "completion_tokens": 0}, {"X-Replica": first["replica"]}
            if body.get("stream"):
                chunk = form if form == "text_completion" else form + ".chunk"
                events = self.events(pieces, {**head, "object": chunk}, usage, body, part)
                return StreamingResponse(events, media_type="text/event-stream", headers=headers)
            text, reason = "", None
            async for piece in pieces:
                text += piece["text"]
                usage["completion_tokens"] += piece["tokens"]
                reason = piece["finish_reason"]
        except (ValueError, KeyError, TypeError, RayTaskError) as error:
            cause = getattr(error, "cause", error)
            return JSONResponse({"error": {"message": str(cause), "type": "invalid_request_error"}}, status_code=400)
        choice = {"index": 0, **whole(text), "finish_reason": finish_reason(reason)}
        return JSONResponse({**head, "object": form, "choices": [choice], "usage": totals(usage)}, headers=headers)

    async def events(self, pieces, head, usage, body, part):
        async for piece in pieces:
            usage["completion_tokens"] += piece["tokens"]
            choice = {"index": 0, **part(piece["text"]), "finish_reason": finish_reason(piece["finish_reason"])}
            yield f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"
        if (body.get("stream_options") or {}).get("include_usage"):
            yield f"data: {json.dumps({**head, 'choices': [], 'usage': totals(usage)})}\n\n"
        yield "data: [DONE]\n\n"


def build(arguments):
    """The application. model; name (of it in requests), threads, sequence_length, min_replicas, max_replicas."""
    numbers = {"threads": 4, "sequence_length": 0, "min_replicas": 1, "max_replicas": 4}
    numbers = {name: int(arguments.get(name, value)) for name, value in numbers.items()}
    least = numbers["min_replicas"]
    model = Model.options(
        ray_actor_options={"num_cpus": numbers["threads"]},
        max_ongoing_requests=2,  # the third goes to another replica, or waits
        autoscaling_config=AutoscalingConfig(min_replicas=least, initial_replicas=least, max_replicas=numbers["max_replicas"],
                                             target_ongoing_requests=1),
        request_router_config=RequestRouterConfig(request_router_class=PrefixRouter),
    ).bind(arguments["model"], numbers["threads"], numbers["sequence_length"])
    routes = Routes.options(max_ongoing_requests=1000, ray_actor_options={"num_cpus": 0})
    return routes.bind(model, arguments.get("name", arguments["model"]))
