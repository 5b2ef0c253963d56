import { expect, test } from 'vitest'
import { workspaceRoots } from './workspace-roots.ts'

const read = (value: unknown) => workspaceRoots.read({ value, origin: 'X', base: '/base' }, '/home/op')

test.each<[unknown, unknown]>([
  [['/srv/a', 'b', '~/c'], { everyone: ['/srv/a', '/base/b', '/home/op/c'], users: {} }],
  ['/srv/a,/srv/b', { everyone: ['/srv/a', '/srv/b'], users: {} }],
  [[], { everyone: [], users: {} }],
  ['{"ann": ["/srv/ann"], "*": "/srv/all"}', { everyone: ['/srv/all'], users: { ann: ['/srv/ann'] } }],
])('the workspace roots %j are read as %j', (value, expected) => {
  expect(read(value)).toEqual(expected)
})

test.each<[unknown, RegExp]>([
  [5, /X must be a list of texts/],
  [[5], /X must be a list of texts/],
  [{ ann: 5 }, /X: ann must be a list of texts/],
  [{ '': ['/a'] }, /without a name/],
  ['{"ann"', /begins like a JSON object/],
])('the workspace roots %j are refused with the reason', (value, reason) => {
  expect(() => read(value)).toThrow(reason)
})
