/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page knows: a Stream for each row of /streams.json, kept a while after its row is
 * gone, with the figures of the last two answers to draw between.
 */

const TRACKS = ['request', 'response'];
/* What has ended stays to be read for this long; what waits for so long is called held. */
const KEEP_MS = 15000;
const HELD_MS = 400;

class Track {
	constructor() {
		this.from = [0, 0, 0];
		this.to = [0, 0, 0];
		this.scale = 0; /* log2 of the bytes that a full bar stands for, as drawn */
		this.held = 0;
	}

	/*
	 * The watermark counts runes: within the bytes that are framed and wait, it is drawn where
	 * the part of their runes that is cleared ends. What no task gates needs no clearance.
	 */
	static cleared(row) {
		const framed = Math.max(row.framed, row.released);
		const waiting = row.runes - row.runes_released;
		if (row.runes_cleared === null || waiting <= 0)
			return row.runes_cleared === null ? framed : row.released;
		const part = (row.runes_cleared - row.runes_released) / waiting;
		return row.released + (framed - row.released) * Math.min(1, Math.max(0, part));
	}

	take(row, first) {
		const next = [row.received, Track.cleared(row), row.released];
		const moved = next.some((value, i) => value !== this.to[i]);
		this.from = first ? next : this.to;
		this.to = next;
		this.held = row.held;
		return moved;
	}

	wantedScale() {
		return Math.ceil(Math.log2(Math.max(256, this.to[0])));
	}
}

class Stream {
	constructor(id, now) {
		this.id = id;
		this.tracks = [new Track(), new Track()];
		this.takenAt = now;
		this.goneAt = 0;
		this.version = 0; /* of its words */
	}

	take(row, now, first) {
		let moved = false;
		this.row = row;
		this.tracks.forEach((track, i) => {
			moved = track.take(row[TRACKS[i]], first) || moved;
		});
		this.moved = moved;
		this.takenAt = now;
		this.kind = this.kindNow();
		this.text = [row.cgroup, row.comm, 'pid ' + row.pid, row.peer, row.policy, row.mode,
			row.level, row.state, row.framing || '', row.reason || '', this.kind,
			row.request.waits_for || '', row.response.waits_for || '', String(row.id)].join('\n').toLowerCase();
		this.version++;
		return moved;
	}

	kindNow() {
		const row = this.row;
		if (row.end !== 'open')
			return row.end;
		if (row.state === 'connecting')
			return 'connecting';
		if (row.action === 'pass')
			return 'passed';
		if (TRACKS.some((track) => row[track].held_ms > HELD_MS))
			return 'held';
		if (row.mode === 'observe')
			return 'observed';
		return this.moved ? 'flowing' : 'idle';
	}

	/* Its row is gone: how it ended is known where the last one said so. */
	leave(now) {
		this.goneAt = now;
		if (this.row.end === 'open')
			this.kind = 'closed';
		this.text += '\n' + this.kind;
		this.tracks.forEach((track) => {
			track.from = track.to;
		});
		this.version++;
	}

	held() {
		return this.tracks[0].held + this.tracks[1].held;
	}

	received() {
		return this.tracks[0].to[0] + this.tracks[1].to[0];
	}
}

/* {columns, rows} as objects; the columns of the tracks are named once. */
function unpack(answer) {
	const names = answer.columns;
	const inner = answer.track_columns;
	const object = (keys, values) => {
		const made = {};
		for (let i = 0; i < keys.length; i++)
			made[keys[i]] = values[i];
		return made;
	};
	return answer.streams.map((values) => {
		const row = object(names, values);
		for (const track of TRACKS)
			row[track] = object(inner, row[track]);
		return row;
	});
}

class Streams {
	constructor() {
		this.all = new Map();
	}

	/* Takes an answer in; true: something moves. */
	take(answer, now) {
		const seen = new Set();
		let moved = false;
		for (const row of unpack(answer)) {
			let stream = this.all.get(row.id);
			const first = !stream || stream.goneAt > 0;
			if (first) {
				stream = new Stream(row.id, now);
				this.all.set(row.id, stream);
			}
			moved = stream.take(row, now, first) || first || moved;
			seen.add(row.id);
		}
		for (const [id, stream] of this.all) {
			if (seen.has(id))
				continue;
			if (!stream.goneAt) {
				stream.leave(now);
				moved = true;
			} else if (now - stream.goneAt > KEEP_MS) {
				this.all.delete(id);
				moved = true;
			}
		}
		return moved;
	}

	/* Those that the words and the choice ask for, in order. */
	view(words, show, order) {
		const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
		const chosen = [];
		for (const stream of this.all.values()) {
			if (shows(stream, show) && wanted.every((word) => stream.text.includes(word)))
				chosen.push(stream);
		}
		return chosen.sort(ORDERS[order]);
	}
}

function shows(stream, show) {
	switch (show) {
	case 'held':
		return stream.kind === 'held';
	case 'denied':
		return stream.kind === 'denied' || stream.kind === 'failed';
	case 'unjudged':
		return stream.row.action === 'pass' || stream.row.mode === 'observe';
	default:
		return true;
	}
}

const ORDERS = {
	newest: (a, b) => b.id - a.id,
	oldest: (a, b) => a.id - b.id,
	held: (a, b) => b.held() - a.held() || b.id - a.id,
	received: (a, b) => b.received() - a.received() || b.id - a.id,
};
