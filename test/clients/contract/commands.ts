/** Commands outside of conversations, and repositories. Source: agent-server-wire.md 1.7 and 1.9. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import {
  type Ask,
  type Cases,
  detail,
  HEX,
  invalid,
  LIST,
  NUMBER,
  orNull,
  type Place,
  TEXT,
  UNKNOWN,
  UTC,
} from './case.ts'

const COMMAND = { id: HEX, timestamp: UTC, command: TEXT, cwd: null, timeout: 300, kind: 'BashCommand' }
const OUTPUT = {
  id: HEX,
  timestamp: UTC,
  command_id: HEX,
  order: NUMBER,
  exit_code: orNull(NUMBER),
  stdout: orNull(TEXT),
  stderr: orNull(TEXT),
  kind: 'BashOutput',
}
const bash = '/api/bash'
const bashEvents = `${bash}/bash_events`
const started = async (place: Place) => (await place.call('POST', `${bash}/start_bash_command`, { command: 'true' })).id

const bashCases: Cases = {
  'POST /api/bash/start_bash_command': [
    { says: 'at once', status: 200, shape: COMMAND, ask: () => ({ body: { command: 'true' } }) },
    { says: 'no command', status: 422, shape: invalid('body', 'command'), ask: () => ({ body: {} }) },
    {
      says: 'no time',
      status: 422,
      shape: invalid('body', 'timeout'),
      ask: () => ({ body: { command: 'true', timeout: 0 } }),
    },
    {
      says: 'less time than none',
      status: 422,
      shape: invalid('body', 'timeout'),
      ask: () => ({ body: { command: 'true', timeout: -1 } }),
    },
  ],
  'POST /api/bash/execute_bash_command': [
    {
      says: 'the last output',
      status: 200,
      shape: { ...OUTPUT, order: 0, exit_code: 3, stdout: 'out\n', stderr: null },
      ask: () => ({ body: { command: 'echo out; exit 3' } }),
    },
    {
      says: 'a folder that is not there',
      status: 200,
      shape: { ...OUTPUT, exit_code: -1, stderr: expect.stringContaining('Error executing command: ') },
      ask: () => ({ body: { command: 'true', cwd: '/not/here' } }),
    },
    { says: 'no command', status: 422, shape: invalid('body', 'command'), ask: () => ({ body: {} }) },
    {
      says: 'no time',
      status: 422,
      shape: invalid('body', 'timeout'),
      ask: () => ({ body: { command: 'true', timeout: 0 } }),
    },
    {
      says: 'less time than none',
      status: 422,
      shape: invalid('body', 'timeout'),
      ask: () => ({ body: { command: 'true', timeout: -1 } }),
    },
  ],
  'GET /api/bash/bash_events/search': [
    {
      says: 'a page',
      status: 200,
      shape: { items: [COMMAND], next_page_id: TEXT },
      ask: async (place) => {
        await place.call('POST', `${bash}/execute_bash_command`, { command: 'true' })
        return { path: `${bashEvents}/search?limit=1` }
      },
    },
    {
      says: 'by command',
      status: 200,
      shape: { items: [{ ...OUTPUT, exit_code: 0 }], next_page_id: null },
      ask: async (place) => {
        const { command_id } = await place.call('POST', `${bash}/execute_bash_command`, { command: 'true' })
        return { path: `${bashEvents}/search?command_id__eq=${command_id}&kind__eq=BashOutput&order__gt=-1` }
      },
    },
    {
      says: 'a limit of 101',
      status: 422,
      shape: invalid('query', 'limit'),
      ask: () => ({ path: `${bashEvents}/search?limit=101` }),
    },
    {
      says: 'a kind that is none',
      status: 422,
      shape: invalid('query', 'kind__eq'),
      ask: () => ({ path: `${bashEvents}/search?kind__eq=Shell` }),
    },
  ],
  'GET /api/bash/bash_events/{event_id}': [
    {
      says: 'a command',
      status: 200,
      shape: COMMAND,
      ask: async (place) => ({ path: `${bashEvents}/${await started(place)}` }),
    },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `${bashEvents}/${UNKNOWN.replaceAll('-', '')}` }),
    },
  ],
  'GET /api/bash/bash_events/': [
    {
      says: 'null for a missing one',
      status: 200,
      shape: [null, COMMAND],
      ask: async (place) => ({ body: [UNKNOWN, await started(place)] }),
    },
    { says: 'no list', status: 422, shape: invalid('body'), ask: () => ({ body: {} }) },
  ],
  'DELETE /api/bash/bash_events': [{ says: 'all of them', status: 200, shape: { cleared_count: NUMBER } }],
}

/** A repository with one commit and one change. */
export function repository(place: Place): string {
  const folder = place.file('repository')
  mkdirSync(folder, { recursive: true })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', folder, ...args], { stdio: 'ignore' })
  writeFileSync(`${folder}/a.txt`, 'one\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'First', '--allow-empty')
  writeFileSync(`${folder}/a.txt`, 'two\n')
  return folder
}

const git = (operation: string, path: string, more = ''): Ask => ({
  path: `/api/git/${operation}?path=${encodeURIComponent(path)}${more}`,
})

const gitCases: Cases = {
  'GET /api/git/changes': [
    {
      says: 'since a commit',
      status: 200,
      shape: [{ status: 'UPDATED', path: 'a.txt', additions: 1, deletions: 1, ref: expect.any(String) }],
      ask: (place) => git('changes', repository(place), '&ref=HEAD'),
    },
    {
      says: 'outside of a repository',
      status: 200,
      shape: [],
      ask: (place) => {
        mkdirSync(place.file('plain'), { recursive: true })
        return git('changes', place.file('plain'))
      },
    },
    { says: 'no path', status: 422, shape: invalid('query', 'path'), ask: () => ({ path: '/api/git/changes' }) },
    {
      says: 'an unknown ref',
      status: 400,
      shape: detail(),
      ask: (place) => git('changes', repository(place), '&ref=rhubarb'),
    },
  ],
  'GET /api/git/diff': [
    {
      says: 'both sides',
      status: 200,
      shape: { modified: expect.stringContaining('two'), original: expect.stringContaining('one') },
      ask: (place) => git('diff', `${repository(place)}/a.txt`, '&ref=HEAD'),
    },
    {
      says: 'a ref and a commit',
      status: 400,
      shape: detail(),
      ask: (place) => git('diff', `${repository(place)}/a.txt`, '&ref=HEAD&commit=abcd'),
    },
    {
      says: 'a commit that is no hash',
      status: 422,
      shape: invalid('query', 'commit'),
      ask: (place) => git('diff', `${repository(place)}/a.txt`, '&commit=HEAD'),
    },
  ],
  'GET /api/git/commits': [
    {
      says: 'a page',
      status: 200,
      shape: {
        commits: expect.arrayContaining([
          { sha: TEXT, short_sha: TEXT, subject: 'First', author: 'a', timestamp: TEXT },
        ]),
        has_more: false,
      },
      ask: (place) => git('commits', repository(place)),
    },
    {
      says: 'a limit of 201',
      status: 422,
      shape: invalid('query', 'limit'),
      ask: (place) => git('commits', repository(place), '&limit=201'),
    },
  ],
  'GET /api/git/commits/{sha}/changes': [
    {
      says: 'of one commit',
      status: 200,
      shape: LIST,
      ask: async (place) => {
        const folder = repository(place)
        const { commits } = await place.call('GET', git('commits', folder).path!)
        return git(`commits/${commits[0].sha}/changes`, folder)
      },
    },
    {
      says: 'no hash',
      status: 422,
      shape: invalid('path', 'sha'),
      ask: (place) => git('commits/HEAD/changes', repository(place)),
    },
    {
      says: 'an unknown one',
      status: 400,
      shape: detail(),
      ask: (place) => git('commits/abcdef12/changes', repository(place)),
    },
  ],
}

export const commandCases: Cases = { ...bashCases, ...gitCases }
