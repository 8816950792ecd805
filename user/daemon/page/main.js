/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the daemon: at most five times a second, less often where an answer takes long or
 * nothing moves, and not at all while nobody looks at the page.
 */

const FASTEST_MS = 200;
const SLOWEST_MS = 1000;
const STATUS_MS = 1000;
const PATIENCE_MS = 10000;
const RETRY_MS = 5000;
/* Of the time, what asking may take; answers without movement before it slows down. */
const SHARE = 0.2;
const CALM_ANSWERS = 10;

async function getJson(path) {
	const answer = await fetch(path, {
		cache: 'no-store',
		signal: AbortSignal.timeout(PATIENCE_MS),
	});
	if (!answer.ok)
		throw new Error('it answered ' + answer.status);
	return answer.json();
}

class Page {
	constructor() {
		this.streams = new Streams();
		this.summary = new Summary();
		this.list = new List(byId('list'), (stream) => this.open(stream));
		this.detail = new Detail((id) => this.closed(id));
		this.interval = FASTEST_MS;
		this.calm = 0;
		this.statusAt = -Infinity;
		this.lastGood = performance.now();
		this.failures = 0;
		this.paused = false;
		this.timer = 0;
		this.busy = false;
		for (const name of ['filter', 'show', 'order'])
			byId(name).addEventListener('input', () => this.show(true));
		byId('pause').addEventListener('click', () => this.pause());
		document.addEventListener('visibilitychange', () => this.again(0));
		addEventListener('keydown', (event) => {
			if (event.key === '/' && document.activeElement.tagName !== 'INPUT') {
				byId('filter').focus();
				event.preventDefault();
			}
		});
	}

	pause() {
		this.paused = !this.paused;
		byId('pause').setAttribute('aria-pressed', String(this.paused));
		say(byId('pause'), this.paused ? 'Go on' : 'Pause');
		this.again(0);
	}

	again(wait) {
		clearTimeout(this.timer);
		if (!this.paused && !document.hidden && !this.busy)
			this.timer = setTimeout(() => this.poll(), wait);
	}

	async poll() {
		const began = performance.now();
		this.busy = true;
		try {
			await this.ask(began);
			this.failures = 0;
			this.lastGood = performance.now();
			byId('trouble').hidden = true;
		} catch (error) {
			this.failures++;
			this.trouble(error);
		}
		this.busy = false;
		this.again(this.failures ? Math.min(RETRY_MS, SLOWEST_MS * this.failures) :
			Math.max(0, this.interval - (performance.now() - began)));
	}

	async ask(began) {
		if (began - this.statusAt >= STATUS_MS) {
			this.summary.show(await getJson('status.json'));
			this.statusAt = began;
		}
		const asked = performance.now();
		const answer = await getJson('streams.json');
		const now = performance.now();
		const moved = this.streams.take(answer, now);
		this.show(false);
		const stream = this.streams.all.get(this.detail.id);
		if (stream)
			await this.detail.refresh(stream);
		this.calm = moved ? 0 : this.calm + 1;
		this.interval = this.calm > CALM_ANSWERS ? SLOWEST_MS : Math.min(SLOWEST_MS,
			Math.max(FASTEST_MS, (performance.now() - asked) / SHARE));
	}

	trouble(error) {
		const badge = byId('enforcing');
		badge.dataset.tone = 'unknown';
		say(badge, 'Not known: the daemon does not answer');
		say(byId('trouble'), 'The daemon has not answered for ' +
			seconds((performance.now() - this.lastGood) / 1000) + ' (' + error.message +
			'). What is shown is old. This page asks again by itself.');
		byId('trouble').hidden = false;
	}

	show(byUser) {
		const view = this.streams.view(byId('filter').value, byId('show').value,
			byId('order').value);
		const all = this.streams.all.size;
		/* A count that changes by itself is not read out. */
		byId('count').setAttribute('aria-live', byUser ? 'polite' : 'off');
		const streams = number(all) + (all === 1 ? ' stream' : ' streams');
		say(byId('count'), all === 0 ? 'No stream is open.' : view.length === all ?
			streams : number(view.length) + ' of ' + streams);
		this.list.show(view, this.interval);
	}

	open(stream) {
		this.list.current = stream.id;
		this.detail.open(stream);
		this.list.ask();
	}

	closed(id) {
		const index = this.list.view.findIndex((stream) => stream.id === id);
		this.list.current = null;
		this.list.ask();
		if (index >= 0)
			this.list.focus(index);
		else
			byId('filter').focus();
	}
}

/* Light, dark, or what the system has; kept nowhere. */
function chooseTheme() {
	const themes = ['system', 'light', 'dark'];
	let at = 0;
	byId('theme').addEventListener('click', () => {
		at = (at + 1) % themes.length;
		document.documentElement.dataset.theme = themes[at];
		say(byId('theme'), 'Theme: ' + themes[at]);
	});
}

chooseTheme();
const page = new Page();
page.again(0);
