// SPDX-License-Identifier: Apache-2.0
//
// What ws_client.py is, on Node's ws library.
'use strict';
const fs = require('fs');
const net = require('net');

const sent = [], received = [];
const connect = net.connect;
net.connect = (...args) => {
    const socket = connect(...args);
    const {write, push} = socket;
    socket.write = (data, encoding, done) => {
        sent.push(typeof data === 'string'
            ? Buffer.from(data, typeof encoding === 'string' ? encoding : 'utf8') : data);
        return write.call(socket, data, encoding, done);
    };
    socket.push = (data, encoding) => {
        if (data)
            received.push(data);
        return push.call(socket, data, encoding);
    };
    return socket;
};
const WebSocket = require('ws');

const plan = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const said = {got: [], error: '', end: null};
const connection = new WebSocket(plan.url);
let wake = () => {};
const change = () => new Promise((done) => { wake = done; });
const closed = new Promise((done) => connection.on('close', (code, reason) => {
    said.end = [code, reason.toString()];
    done();
    wake();
}));
let pongs = 0;
connection.on('error', (error) => { said.error ||= `${error.name}: ${error.message}`; });
connection.on('pong', () => { pongs++; wake(); });
connection.on('message', (data, binary) => {
    said.got.push(binary ? {binary: data.toString('hex')} : data.toString());
    wake();
});

async function until(condition) {
    while (!condition() && !said.end)
        await change();
}

async function act(step) {
    if (step.expect) {
        act.taken += step.expect;
        await until(() => said.got.length >= act.taken);
    } else if (step.pause) {
        await new Promise((done) => setTimeout(done, step.pause * 1000));
    } else if (step.ping) {
        const wanted = pongs + 1;
        connection.ping(Buffer.from(step.ping, 'hex'));
        await until(() => pongs >= wanted);
    } else if (step.close) {
        connection.close(1000, step.close);
    } else if (step.binary) {
        connection.send(Buffer.from(step.binary, 'hex'), () => {});
    } else if (step.fragments) {
        step.fragments.forEach((part, i) =>
            connection.send(part, {fin: i + 1 === step.fragments.length}, () => {}));
    } else {
        connection.send(step.text, () => {});
    }
}
act.taken = 0;

async function main() {
    await until(() => connection.readyState === WebSocket.OPEN);
    for (const step of plan.steps)
        if (!said.end)
            await act(step);
    connection.close(1000);
    await closed;
    said.sent = Buffer.concat(sent).toString('hex');
    said.received = Buffer.concat(received).toString('hex');
    console.log(JSON.stringify(said));
}

connection.on('open', () => wake());
main();
