/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of streams: only the rows in sight are elements, so that thousands cost what a
 * screen of them costs. Between two answers the bars move with the frames of the browser.
 */

const still = matchMedia('(prefers-reduced-motion: reduce)');
/* Rows beyond the edge of the window, and how much of the way to its scale a bar goes a frame. */
const MARGIN_ROWS = 3;
const SCALE_STEP = 0.12;
/* A part of a bar that is there is never drawn smaller than this. */
const LEAST = 0.025;

function makeTrack(name) {
	const track = make('span', 'track ' + name);
	const words = make('span', 'words');
	const bar = make('span', 'bar3');
	track.words = [make('span'), make('span')];
	words.append(...track.words);
	track.parts = ['received', 'cleared', 'released'].map((part) => make('i', part));
	track.drawn = [-1, -1, -1];
	bar.append(...track.parts);
	track.append(words, bar);
	return track;
}

const WAITS = {
	connect: 'for the peer to answer',
	reader: 'for its reader',
	rest: 'for the rest of a message',
	text: 'for more text',
	value: 'for the end of a value',
	verdicts: 'for verdicts',
	message_end: 'for the end of the message',
};

/* The track that waits the longest. */
function longest(row) {
	return row.request.held_ms > row.response.held_ms ? row.request : row.response;
}

/* Why it ended, or what its track that waits the longest waits for. */
function because(stream) {
	const row = stream.row;
	if (row.end !== 'open')
		return row.reason && row.end !== 'complete' ? row.reason + ' \u00B7 ' : '';
	if (stream.kind !== 'held')
		return '';
	const track = longest(row);
	if (!(track.waits_for in WAITS))
		return '';
	const task = ['text', 'verdicts'].includes(track.waits_for) && track.slowest;
	return 'waits ' + WAITS[track.waits_for] + (task ? ' of ' + task : '') + ' \u00B7 ';
}

/* How much is held, and for how long, once that is long enough to be called so. */
function heldWords(figures) {
	if (!figures.held)
		return '';
	return bytes(figures.held) + ' held' +
		(figures.held_ms > HELD_MS ? ', ' + seconds(figures.held_ms / 1000) : '');
}

class Row {
	constructor() {
		this.element = make('div', 'place');
		this.element.setAttribute('role', 'listitem');
		this.button = make('button', 'row');
		this.button.type = 'button';
		this.state = make('span', 'state');
		this.held = make('span', 'held');
		this.who = [make('b'), make('span')];
		const who = make('span', 'who');
		who.append(...this.who);
		this.tracks = TRACKS.map(makeTrack);
		this.button.append(this.state, this.held, who, ...this.tracks);
		this.element.append(this.button);
		this.element.row = this;
		this.stream = null;
		this.version = -1;
	}

	place(index, height, count) {
		if (this.index === index && this.height === height && this.count === count)
			return;
		this.element.style.transform = 'translateY(' + index * height + 'px)';
		this.element.setAttribute('aria-posinset', index + 1);
		this.element.setAttribute('aria-setsize', count);
		Object.assign(this, {index, height, count});
	}

	/* The words of a stream, where they are not there yet. */
	bind(stream, current) {
		this.button.setAttribute('aria-expanded', String(stream.id === current));
		if (this.stream === stream && this.version === stream.version)
			return;
		const row = stream.row;
		this.stream = stream;
		this.version = stream.version;
		this.button.dataset.kind = stream.kind;
		this.button.dataset.id = stream.id;
		this.button.classList.toggle('gone', stream.goneAt > 0);
		say(this.state, KINDS[stream.kind] || stream.kind);
		say(this.held, stream.kind === 'held' ? heldWords(longest(row)) : '');
		say(this.who[0], row.comm + ' (' + row.pid + ') \u2192 ' + row.peer);
		say(this.who[1], because(stream) + row.policy + (row.mode === 'observe' ? ' (not enforcing)' : '') + ' \u00B7 ' +
			row.cgroup);
		this.tracks.forEach((track, i) => {
			const figures = row[TRACKS[i]];
			say(track.words[0], TRACKS[i] + ' ' + bytes(figures.received));
			say(track.words[1], stream.goneAt ? '' : heldWords(figures));
		});
	}

	/* Draws the bars as they stand at that time; true: they still move. */
	draw(part) {
		let moving = false;
		this.tracks.forEach((track, i) => {
			moving = drawTrack(track, this.stream.tracks[i], part) || moving;
		});
		return moving;
	}
}

function drawTrack(element, track, part) {
	const wanted = track.wantedScale();
	const at = track.from.map((value, i) => value + (track.to[i] - value) * part);
	if (!track.scale || still.matches || Math.abs(wanted - track.scale) < 0.01)
		track.scale = wanted;
	else
		track.scale += (wanted - track.scale) * SCALE_STEP;
	const full = 2 ** track.scale;
	const ends = at.map((value) => Math.min(1, value / full));
	if (at[0] > at[1])
		ends[1] = Math.max(0, Math.min(ends[1], ends[0] - LEAST));
	if (at[1] > at[2])
		ends[2] = Math.max(0, Math.min(ends[2], ends[1] - LEAST));
	else
		ends[2] = Math.min(ends[2], ends[1]);
	ends.forEach((end, i) => {
		const shown = Math.round((end - 1) * 1e4) / 100;
		if (element.drawn[i] !== shown) {
			element.drawn[i] = shown;
			element.parts[i].style.transform = 'translateX(' + shown + '%)';
		}
	});
	return part < 1 && track.from.some((value, i) => value !== track.to[i]) ||
		track.scale !== wanted;
}

class List {
	constructor(element, onOpen) {
		this.element = element;
		this.view = [];
		this.rows = new Map(); /* by stream */
		this.spare = [];
		this.current = null;
		this.interval = 200;
		this.asked = false;
		this.frame = this.frame.bind(this);
		this.height = 0; /* of a row; 0: to be looked up */
		addEventListener('scroll', () => this.ask(), {passive: true});
		addEventListener('resize', () => this.ask());
		/* Where it is narrow its rows are higher. */
		new ResizeObserver(() => {
			this.height = 0;
			this.ask();
		}).observe(element);
		element.addEventListener('click', (event) => {
			const place = event.target.closest('.place');
			if (place)
				onOpen(place.row.stream);
		});
		element.addEventListener('keydown', (event) => this.key(event));
	}

	show(view, interval) {
		this.view = view;
		this.interval = interval;
		this.ask();
	}

	ask() {
		if (!this.asked) {
			this.asked = true;
			requestAnimationFrame(this.frame);
		}
	}

	frame(now) {
		let moving = false;
		this.asked = false;
		this.layOut();
		for (const row of this.rows.values()) {
			const since = now - row.stream.takenAt;
			moving = row.draw(still.matches ? 1 :
				Math.min(1, Math.max(0, since / this.interval))) || moving;
		}
		if (moving)
			this.ask();
	}

	rowHeight() {
		if (!this.height)
			this.height = parseFloat(getComputedStyle(this.element).getPropertyValue('--row'));
		return this.height;
	}

	/* Elements for what is in sight, in its order, and none for the rest. */
	layOut() {
		const height = this.rowHeight();
		const top = -this.element.getBoundingClientRect().top;
		const count = this.view.length;
		const first = Math.max(0, Math.floor(top / height) - MARGIN_ROWS);
		const last = Math.min(count, Math.ceil((top + innerHeight) / height) + MARGIN_ROWS);
		const whole = Math.max(1, count) * height + 'px';
		if (this.element.style.height !== whole)
			this.element.style.height = whole;
		const focused = document.activeElement && document.activeElement.closest('.place');
		const shown = this.view.slice(first, last);
		this.release(new Set(shown));
		shown.forEach((stream, i) => {
			const row = this.rowOf(stream);
			row.place(first + i, height, count);
			row.bind(stream, this.current);
			if (this.element.children[i] !== row.element)
				this.element.insertBefore(row.element, this.element.children[i] || null);
		});
		if (focused && !focused.contains(document.activeElement))
			this.focusAgain(focused.row, first, last);
	}

	rowOf(stream) {
		let row = this.rows.get(stream);
		if (!row) {
			row = this.spare.pop() || new Row();
			this.rows.set(stream, row);
		}
		return row;
	}

	release(wanted) {
		for (const [stream, row] of this.rows) {
			if (wanted.has(stream))
				continue;
			this.rows.delete(stream);
			row.element.remove();
			this.spare.push(row);
		}
	}

	/* The row that had the focus was moved, or is gone: then the nearest gets it. */
	focusAgain(row, first, last) {
		const index = Math.max(first, Math.min(last - 1, row.index));
		const again = row.element.isConnected ? row : this.rows.get(this.view[index]);
		if (again)
			again.button.focus({preventScroll: true});
	}

	/* Puts the focus on a row, which is scrolled to and made where it is not there. */
	focus(index) {
		const height = this.rowHeight();
		const wanted = Math.max(0, Math.min(this.view.length - 1, index));
		const top = this.element.getBoundingClientRect().top + wanted * height;
		if (top < 0 || top + height > innerHeight)
			scrollBy(0, top < 0 ? top : top + height - innerHeight);
		this.layOut();
		const row = this.rows.get(this.view[wanted]);
		if (row)
			row.button.focus({preventScroll: true});
	}

	key(event) {
		const place = event.target.closest('.place');
		const page = Math.max(1, Math.floor(innerHeight / this.rowHeight()) - 1);
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
			Home: -Infinity, End: Infinity};
		if (!place || !(event.key in steps))
			return;
		this.focus(place.row.index + steps[event.key]);
		event.preventDefault();
	}
}
