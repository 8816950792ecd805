#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A WebSocket server on the websockets library. It sends what the answers list for the
path that was asked for, then returns each message it gets; it writes down a line of JSON
for each message and each end. Says `ready PORT` once it listens on loopback."""
import argparse
import asyncio
import json

import websockets
from websockets.legacy.server import serve


async def send(connection, item):
    if 'pause' in item:
        await asyncio.sleep(item['pause'])
    elif 'binary' in item:
        await connection.send(bytes.fromhex(item['binary']))
    else:
        await connection.send(item.get('fragments', item.get('text')))


class Server:
    def __init__(self, answers, record):
        self.answers, self.record = answers, record

    def note(self, path, **what):
        self.record.write(json.dumps({'path': path, **what}) + '\n')
        self.record.flush()

    async def talk(self, connection):
        path = connection.path
        try:
            for item in self.answers.get(path, []):
                await send(connection, item)
            async for message in connection:
                self.note(path, **({'text': message} if isinstance(message, str)
                                   else {'binary': message.hex()}))
                await connection.send(message)
        except websockets.ConnectionClosed:
            pass
        self.note(path, end=connection.close_code, reason=connection.close_reason)


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--answers', required=True, help='a JSON file')
    parser.add_argument('--record', required=True, help='a file')
    parser.add_argument('--ping', type=float, default=20, help='seconds between two pings')
    arguments = parser.parse_args()
    with open(arguments.answers, encoding='utf-8') as file:
        answers = json.load(file)
    with open(arguments.record, 'w', encoding='utf-8') as record:
        server = Server(answers, record)
        async with serve(server.talk, '127.0.0.1', 0, ping_interval=arguments.ping) as listening:
            print('ready %d' % listening.sockets[0].getsockname()[1], flush=True)
            await asyncio.Future()


if __name__ == '__main__':
    asyncio.run(main())
