#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary WebSocket client on the websockets library; it knows nothing of Sluice.
Does what the JSON file in its argument lists and says in one line of JSON what it got,
how the connection ended, and every byte that its socket took and gave."""
import asyncio
import json
import sys

import websockets
from websockets.legacy.client import WebSocketClientProtocol, connect


class Recording:
    """A transport that keeps what is written."""

    def __init__(self, transport, kept):
        self.transport, self.kept = transport, kept

    def write(self, data):
        self.kept += data
        self.transport.write(data)

    def __getattr__(self, name):
        return getattr(self.transport, name)


class Protocol(WebSocketClientProtocol):
    def __init__(self, *args, **options):
        self.sent, self.received = bytearray(), bytearray()
        super().__init__(*args, **options)

    def connection_made(self, transport):
        super().connection_made(Recording(transport, self.sent))

    def data_received(self, data):
        self.received += data
        super().data_received(data)


async def do(connection, step, got):
    if 'expect' in step:
        for _ in range(step['expect']):
            message = await connection.recv()
            got.append(message if isinstance(message, str) else {'binary': message.hex()})
    elif 'pause' in step:
        await asyncio.sleep(step['pause'])
    elif 'ping' in step:
        await (await connection.ping(bytes.fromhex(step['ping'])))
    elif 'close' in step:
        await connection.close(1000, step['close'])
    elif 'binary' in step:
        await connection.send(bytes.fromhex(step['binary']))
    else:
        await connection.send(step.get('fragments', step.get('text')))


async def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        plan = json.load(file)
    said, connection = {'got': [], 'error': '', 'sent': '', 'received': '', 'end': None}, None
    try:
        connection = await connect(plan['url'], create_protocol=Protocol,
                                   ping_interval=plan.get('ping', 20))
        for step in plan['steps']:
            await do(connection, step, said['got'])
        await connection.close()
    except (OSError, websockets.WebSocketException, asyncio.TimeoutError) as error:
        said['error'] = '%s: %s' % (type(error).__name__, error)
    if connection:
        await connection.wait_closed()
        said.update(sent=connection.sent.hex(), received=connection.received.hex(),
                    end=[connection.close_code, connection.close_reason])
    print(json.dumps(said))


asyncio.run(main())
