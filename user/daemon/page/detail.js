/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream in full: every member that the daemon tells of it, why it is held first. Members
 * that this page has never heard of are shown like the rest.
 */

const IN_BYTES = new Set(['received', 'framed', 'released', 'sent', 'held', 'partial',
	'expected_message_size']);
/* Which nobody counts by. */
const NUMBERS = new Set(['id', 'pid', 'uid']);

function value(name, item) {
	if (item === null || item === '')
		return '\u2013';
	if (typeof item === 'boolean')
		return item ? 'yes' : 'no';
	if (typeof item !== 'number')
		return String(item);
	if (name.endsWith('_s'))
		return seconds(item);
	return IN_BYTES.has(name) && item >= 1000 ? number(item) + ' (' + bytes(item) + ')' :
		NUMBERS.has(name) || !Number.isInteger(item) ? String(item) : number(item);
}

/* snake_case, without the unit that the value shows. */
const label = (name) => name.replace(/_s$/, '').replaceAll('_', ' ');

function isPlain(item) {
	return item === null || typeof item !== 'object';
}

/* An object as a heading and a list; what is nested follows under a heading of its own. */
function describe(title, object, into) {
	const plain = [];
	const nested = [];
	for (const [name, item] of Object.entries(object)) {
		if (Array.isArray(item) && item.every(isPlain))
			plain.push([name, item.length ? item.join(', ') : 'none']);
		else
			(isPlain(item) ? plain : nested).push([name, item]);
	}
	if (title)
		into.append(make('h3', '', title));
	const list = make('dl');
	for (const [name, item] of plain)
		list.append(make('dt', '', label(name)), make('dd', '', value(name, item)));
	into.append(list);
	for (const [name, item] of nested)
		describe((title ? title + ', ' : '') + label(name), item, into);
}

class Detail {
	constructor(onClose) {
		this.element = byId('detail');
		this.body = byId('detail-body');
		this.title = byId('detail-title');
		this.id = null;
		this.shown = '';
		this.onClose = onClose;
		byId('close').addEventListener('click', () => this.close());
		addEventListener('keydown', (event) => {
			if (event.key === 'Escape' && this.id !== null)
				this.close();
		});
	}

	open(stream) {
		this.id = stream.id;
		this.shown = '';
		say(this.title, 'Stream ' + stream.id + ', ' + stream.row.comm);
		this.body.replaceChildren();
		this.element.hidden = false;
		this.element.scrollTop = 0;
		document.body.classList.add('detailed');
		this.title.focus();
		this.refresh(stream);
	}

	close() {
		const id = this.id;
		this.id = null;
		this.element.hidden = true;
		document.body.classList.remove('detailed');
		this.onClose(id);
	}

	/* stream: its row, for what to say where the daemon does not know it any more. */
	async refresh(stream) {
		const id = this.id;
		let full = null;
		if (id === null)
			return;
		if (!stream.goneAt)
			full = await getJson('streams.json?id=' + id).catch(() => null);
		if (id === this.id)
			this.show(stream, full);
	}

	show(stream, full) {
		const object = full || stream.row;
		const gone = full ? '' : 'This stream is closed; these are its last figures.';
		const text = gone + JSON.stringify(object);
		if (text === this.shown)
			return;
		this.shown = text;
		const made = document.createDocumentFragment();
		if (gone)
			made.append(make('p', 'why', gone));
		for (const track of gone ? [] : TRACKS)
			made.append(make('p', 'why', track + ': ' + object[track].why));
		describe('', object, made);
		this.body.replaceChildren(made);
	}
}
