// SPDX-License-Identifier: Apache-2.0
//
// What ws_server.py is, on Node's ws library: --answers FILE --record FILE, and --deflate
// to agree on permessage-deflate, which that library does not by itself.
'use strict';
const fs = require('fs');
const {WebSocketServer} = require('ws');

const words = process.argv.slice(2);
const option = (name) => words[words.indexOf(name) + 1];
const answers = JSON.parse(fs.readFileSync(option('--answers'), 'utf8'));
const record = option('--record');

function note(path, what) {
    fs.appendFileSync(record, JSON.stringify({path, ...what}) + '\n');
}

async function send(connection, item) {
    if (item.pause)
        await new Promise((done) => setTimeout(done, item.pause * 1000));
    else if (item.binary)
        connection.send(Buffer.from(item.binary, 'hex'));
    else if (item.fragments)
        item.fragments.forEach((part, i) =>
            connection.send(part, {fin: i + 1 === item.fragments.length}));
    else
        connection.send(item.text);
}

async function talk(connection, request) {
    const path = request.url;
    connection.on('message', (data, binary) => {
        note(path, binary ? {binary: data.toString('hex')} : {text: data.toString()});
        connection.send(data, {binary});
    });
    connection.on('error', () => {});
    connection.on('close', (code, reason) => note(path, {end: code, reason: reason.toString()}));
    for (const item of answers[path] ?? [])
        await send(connection, item);
}

fs.writeFileSync(record, '');
const server = new WebSocketServer({host: '127.0.0.1', port: 0,
                                    perMessageDeflate: words.includes('--deflate')});
server.on('connection', talk);
server.on('listening', () => console.log(`ready ${server.address().port}`));
