// SPDX-License-Identifier: Apache-2.0
//
// Node's own HTTP/1 parser, strict as its server and client have it: JSON lines in ({id,
// response, methods, hex}), JSON lines out ({id, messages: [{start, hex}], error}).
'use strict';
const { HTTPParser } = require('_http_common');
const readline = require('readline');

function parse(record) {
	const data = Buffer.from(record.hex, 'hex');
	const methods = (record.methods || []).slice();
	const messages = [];
	let start, body, upgraded = false;
	const parser = new HTTPParser();

	parser.initialize(record.response ? HTTPParser.RESPONSE : HTTPParser.REQUEST, {}, 0,
			  HTTPParser.kLenientNone);
	parser[HTTPParser.kOnMessageBegin] = () => { body = []; };
	parser[HTTPParser.kOnHeaders] = () => {};
	parser[HTTPParser.kOnHeadersComplete] =
		(major, minor, headers, method, url, status, reason, upgrade) => {
			if (!record.response) {
				start = [HTTPParser.methods ? HTTPParser.methods[method] : method, url];
				upgraded = upgraded || upgrade;
				return 0;
			}
			start = [status];
			// As lib/_http_client.js decides: an interim answer has no body.
			if (status >= 100 && status < 200 && status !== 101)
				return 1;
			const asked = methods.shift() || 'GET';

			if (asked === 'CONNECT' && status >= 200 && status < 300) {
				upgraded = true;
				return 2;
			}
			return asked === 'HEAD' ? 1 : 0;
		};
	parser[HTTPParser.kOnBody] = (piece, offset, len) => {
		body.push(Buffer.from(offset === undefined ? piece : piece.subarray(offset, offset + len)));
	};
	parser[HTTPParser.kOnMessageComplete] = () => {
		messages.push({ start, hex: Buffer.concat(body || []).toString('hex') });
		start = undefined;
	};
	let error = null;
	const result = parser.execute(data);

	if (result instanceof Error) {
		error = result.code;
	} else if (!upgraded) {
		const end = parser.finish();

		if (end instanceof Error)
			error = end.code;
	}
	return { id: record.id, messages, error, upgraded };
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
	process.stdout.write(JSON.stringify(parse(JSON.parse(line))) + '\n');
});
