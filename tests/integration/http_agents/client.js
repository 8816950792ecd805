// SPDX-License-Identifier: Apache-2.0
//
// An ordinary HTTP client on Node's fetch; it knows nothing of Sluice. Asks what the
// JSON file in its argument lists, one after the other, and says a line of JSON on each.
'use strict';
const fs = require('fs');

async function tell(step) {
    const said = {status: 0, type: '', body: '', error: '', times: []};
    const pieces = [];
    const began = Date.now();
    try {
        const answer = await fetch(step.url, {method: step.method ?? 'POST',
                                              headers: step.headers ?? {}, body: step.body});
        said.status = answer.status;
        said.type = answer.headers.get('content-type') ?? '';
        let size = 0;
        for await (const piece of answer.body ?? []) {
            pieces.push(piece);
            size += piece.length;
            said.times.push((Date.now() - began) / 1000);
            if (step.leave && size >= step.leave)
                process.exit(4);
        }
    } catch (error) {
        const cause = error.cause ? ` (${error.cause.code}: ${error.cause.message})` : '';
        said.error = `${error.name}: ${error.message}${cause}`;
    }
    said.body = Buffer.concat(pieces).toString('hex');
    console.log(JSON.stringify(said));
    return said.error === '';
}

async function main() {
    let well = true;
    for (const step of JSON.parse(fs.readFileSync(process.argv[2], 'utf8')))
        well = await tell(step) && well;
    process.exitCode = well ? 0 : 1;
}

main();
