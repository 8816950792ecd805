/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the page: is anything enforced, for whom, what stays open, and the figures. */

function enforcement(status) {
	const watches = status.watches;
	const count = watches.filter((watch) => watch.enforcing).length;
	const cgroups = (n) => number(n) + (n === 1 ? ' cgroup' : ' cgroups');
	if (!watches.length)
		return ['unknown', 'Nothing is watched'];
	if (count === watches.length)
		return ['good', 'Enforcing for ' + cgroups(count)];
	if (count)
		return ['part', 'Enforcing for ' + count + ' of ' + cgroups(watches.length)];
	return ['bad', 'Not enforcing, ' + cgroups(watches.length) + ' observed'];
}

/* A table's body, rewritten where a text of it differs. */
function fill(body, rows) {
	const text = JSON.stringify(rows);
	if (body.text === text)
		return;
	body.text = text;
	body.replaceChildren(...rows.map((cells) => {
		const row = make('tr');
		row.append(...cells.map((cell) => make('td', '', cell)));
		return row;
	}));
}

function bound(policy) {
	const words = (runes) => runes === null ? 'no bound' : number(runes);
	return 'request ' + words(policy.exposure_bound_runes.request) + ', response ' +
		words(policy.exposure_bound_runes.response);
}

function openWays(watches) {
	const ways = new Set(watches.flatMap((watch) => watch.open_ways || []));
	return watches.length ? '(' + number(ways.size) + ' open)' : '';
}

class Summary {
	constructor() {
		this.figures = new Map();
		for (const name of ['Open streams', 'Held', 'Complete', 'Denied', 'Failed', 'Released'])
			this.add(name);
	}

	add(name) {
		const group = make('div');
		const shown = make('dd', '', '\u2013');
		group.append(make('dt', '', name), shown);
		byId('figures').append(group);
		this.figures.set(name, shown);
	}

	show(status) {
		const [tone, words] = enforcement(status);
		const badge = byId('enforcing');
		badge.dataset.tone = tone;
		say(badge, words);
		say(byId('instance'), status.instance + ' \u00B7 ' + status.version);
		document.title = words + ' \u00B7 Sluice ' + status.instance;
		for (const [name, text] of [
			['Open streams', number(status.streams.open)],
			['Held', bytes(status.limits.held_bytes)],
			['Complete', number(status.streams.complete)],
			['Denied', number(status.streams.denied)],
			['Failed', number(status.streams.failed)],
			['Released', bytes(status.bytes.released)],
		])
			say(this.figures.get(name), text);
		say(byId('ways'), openWays(status.watches));
		fill(byId('policies'), status.policies.map((policy) => [
			policy.name, policy.mode + (policy.mode === 'observe' ? ' (not enforcing)' : ''),
			policy.safety_level, bound(policy)]));
		fill(byId('watches'), status.watches.map((watch) => [
			watch.path, watch.policy || '\u2013', watch.enforcing ? 'yes' : 'no',
			(watch.open_ways || []).join('; ') || 'nothing']));
	}
}
