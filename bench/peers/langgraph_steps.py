"""Seven no-op nodes in LangGraph with its Postgres saver in sync mode, one at a time and many at once.

Arguments: directory of the server's socket, runs one after the other, how many at once, runs in all.
"""

import asyncio
import sys
import time
from typing import TypedDict
from urllib.parse import quote

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

STEPS = 7
TEXT = "x" * 1200


class State(TypedDict):
    text: str
    done: int


def builder(is_async):
    graph = StateGraph(State)

    def step(state):
        return {"done": state["done"] + 1}

    async def async_step(state):
        return {"done": state["done"] + 1}

    names = [f"n{number}" for number in range(STEPS)]
    for name in names:
        graph.add_node(name, async_step if is_async else step)
    graph.add_edge(START, names[0])
    for one, other in zip(names, names[1:]):
        graph.add_edge(one, other)
    graph.add_edge(names[-1], END)
    return graph


def config(thread):
    return {"configurable": {"thread_id": thread}}


def sequential(url, runs):
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        graph = builder(False).compile(checkpointer=saver)
        graph.invoke({"text": TEXT, "done": 0}, config("warm"), durability="sync")
        begun = time.perf_counter()
        for number in range(runs):
            graph.invoke({"text": TEXT, "done": 0}, config(f"s{number}"), durability="sync")
        return runs * STEPS / (time.perf_counter() - begun)


async def at_once(url, slots, runs):
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(url, max_size=slots, kwargs=options) as pool:
        graph = builder(True).compile(checkpointer=AsyncPostgresSaver(pool))
        free = asyncio.Semaphore(slots)

        async def one(number):
            async with free:
                await graph.ainvoke(
                    {"text": TEXT, "done": 0}, config(f"c{number}"), durability="sync"
                )

        begun = time.perf_counter()
        await asyncio.gather(*(one(number) for number in range(runs)))
        return runs * STEPS / (time.perf_counter() - begun)


def main():
    sockets, runs, slots, in_all = sys.argv[1], *map(int, sys.argv[2:5])
    url = f"postgresql://cynode@/postgres?host={quote(sockets, safe='')}"
    one = sequential(url, runs)
    many = asyncio.run(at_once(url, slots, in_all))
    print(f"{one:.0f} steps/s one at a time, {many:.0f} steps/s {slots} at once")


main()
