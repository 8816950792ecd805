/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and figures. Whatever comes from a stream is set as text, never as markup: agents
 * choose their own names.
 */
'use strict';

const byId = (id) => document.getElementById(id);

/* An element with a class and a text, both optional. */
function make(tag, name, text) {
	const element = document.createElement(tag);
	if (name)
		element.className = name;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

/* Only what differs is written, so that an unchanged page costs no layout. */
function say(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function bytes(count) {
	let unit = 0;
	let value = count;
	while (value >= 1000 && unit < UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	return (unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)) + ' ' + UNITS[unit];
}

function seconds(value) {
	if (value < 10)
		return value.toFixed(1) + ' s';
	if (value < 120)
		return Math.round(value) + ' s';
	if (value < 7200)
		return Math.round(value / 60) + ' min';
	return Math.round(value / 3600) + ' h';
}

const number = (value) => value.toLocaleString('en');

/* Each kind of stream has a sign and a word, so that no colour is needed to tell them apart. */
const KINDS = {
	connecting: '\u2026 connecting',
	flowing: '\u25B6 flowing',
	idle: '\u25CF open',
	held: '\u275A\u275A held',
	passed: '\u21E2 passed',
	observed: '\u25CC observed',
	complete: '\u2713 complete',
	denied: '\u2715 denied',
	failed: '! failed',
	closed: '\u2013 closed',
};
