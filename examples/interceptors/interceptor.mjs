#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// An interceptor: denies text that has one of the words it is given, and allows any other.
//
//   interceptor.mjs --port 8080 forbidden secret      http://127.0.0.1:8080/evaluate
//   interceptor.mjs --unix /run/mod.sock forbidden    http+unix:///run/mod.sock:/evaluate
//
// It gets an agent context (AGENT-HOOKS-0.1 section 4) with POST /evaluate and answers with a
// verdict (section 5): {"decision": "allow"}, or "deny" with a reason. The text is a window:
// its first extensions.sluice.span.before runes were in an earlier one too, so that a word
// which was cut is seen whole. Connections are kept; requests that come one behind the other
// are answered in their order. What is no context gets an HTTP error, which counts as a deny.
// Nothing of the text is printed or kept. Prints `ready ADDRESS` once it listens.
import {createServer} from 'node:http';
import {parseArgs} from 'node:util';

const LARGEST = 8 << 20; // bytes of a context; the specification's own limit is 5 MiB
const utf8 = new TextDecoder('utf-8', {fatal: true});

const {values, positionals} = parseArgs({
	options: {port: {type: 'string', default: '8080'}, unix: {type: 'string'}},
	allowPositionals: true,
});
const words = positionals.map((word) => word.toLowerCase());
if (!words.length)
	throw new Error('no word to deny');

function evaluate(body) {
	const {content} = JSON.parse(utf8.decode(body)).target;
	if (content !== null && typeof content !== 'string')
		throw new TypeError('no text');
	const text = (content ?? '').toLowerCase();
	const denied = words.some((word) => text.includes(word));
	return denied ? {decision: 'deny', reason: 'listed_word'} : {decision: 'allow'};
}

async function handle(request) {
	const pieces = [];
	let size = 0;
	for await (const piece of request)
		if ((size += piece.length) <= LARGEST)
			pieces.push(piece);
	if (request.method !== 'POST' || request.url !== '/evaluate')
		return [404];
	return size > LARGEST ? [413] : [200, evaluate(Buffer.concat(pieces))];
}

const server = createServer((request, response) => {
	handle(request).catch(() => [400]).then(([status, verdict]) => {
		const body = verdict ? JSON.stringify(verdict) : '';
		response.writeHead(status, {'Content-Length': Buffer.byteLength(body)}).end(body);
	});
});
const ready = () => console.log('ready', values.unix ?? server.address().port);
server.listen(values.unix ? {path: values.unix} : {port: Number(values.port), host: '127.0.0.1'},
	ready);
