/** A conversation here whose commands and files are on another server. Source: interface.md, Workspace variants; docs/remote-workspace.md. */
import { readFile, readdir } from 'node:fs/promises'
import { expect } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import {
  agentOf,
  eventsOf,
  finish,
  REMOTE_KEY,
  run,
  startOn,
  tool,
} from '../../packages/server/testing/remote-conversations.ts'
import { until } from '../../packages/server/testing/until.ts'

/** A small task: commands that depend on each other, edits, a list of tasks. */
const script = (work: string) => [
  run('mkdir -p src && cd src && COUNT=3 && pwd'),
  run('echo "$COUNT from $(basename "$PWD")" > made.txt; cat made.txt; (exit 3)'),
  tool('file_editor', { command: 'create', path: `${work}/src/app.js`, file_text: 'let a = 1\nlet b = 2\n' }),
  tool('file_editor', { command: 'str_replace', path: `${work}/src/app.js`, old_str: 'b = 2', new_str: 'b = 3' }),
  tool('file_editor', { command: 'insert', path: `${work}/src/app.js`, insert_line: 0, new_str: '// öne' }),
  tool('file_editor', { command: 'view', path: `${work}/src/app.js` }),
  tool('file_editor', { command: 'view', path: work }),
  tool('file_editor', { command: 'undo_edit', path: `${work}/src/app.js` }),
  tool('task_tracker', { command: 'plan', task_list: [{ title: 'done', notes: '', status: 'done' }] }),
  run('cat app.js; rm made.txt; ls'),
  finish,
]

verifies(
  [
    'seed.workspace.remote.host-kind',
    'seed.workspace.remote.host.meaning',
    'seed.workspace.remote.working_dir.meaning',
    'seed.auth.remote-workspace',
  ],
  'the same task does the same in a workspace on another server as in one here',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({
      respond: ({ text, view }) =>
        script(text.includes(dir.file('there')) ? dir.file('there') : dir.file('here'))[view.assistantTurns] ?? finish,
    })
    await using here = await startServerProcess({ dataDir: dir.file('a') })
    await using there = await startServerProcess({
      dataDir: dir.file('b'),
      env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path },
    })
    const places = [
      { kind: 'LocalWorkspace', working_dir: dir.file('here') },
      { kind: 'RemoteWorkspace', working_dir: dir.file('there'), host: `${there.url}/`, api_key: REMOTE_KEY },
    ]
    const told: string[][] = []
    for (const place of places) {
      const id = await startOn(here, {
        workspace: place,
        agent: agentOf(model.url),
        text: `go to ${place.working_dir}`,
      })
      await until(async () => (await here.call('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
      const { body: info } = await here.call('GET', `/api/conversations/${id}`)
      expect(info.workspace.kind).toBe(place.kind)
      const events = await eventsOf(here, id)
      told.push(
        events
          .filter(({ kind }) => kind === 'ObservationEvent')
          .map(({ observation: { content, exit_code, is_error, kind } }) =>
            JSON.stringify({ kind, exit_code, is_error, content }).replaceAll(place.working_dir, 'WORK'),
          ),
      )
      expect(JSON.stringify([info, events])).not.toContain(REMOTE_KEY)
      expect((await here.call('DELETE', `/api/conversations/${id}`)).status).toBe(200)
    }
    expect(told[0]).toHaveLength(11)
    expect(told[1]).toEqual(told[0])
    for (const place of ['here', 'there']) {
      expect(await readdir(dir.file(place), { recursive: true })).toEqual(['src', 'src/app.js'])
      expect(await readFile(dir.file(place, 'src/app.js'), 'utf8')).toBe('let a = 1\nlet b = 3\n')
    }
    expect(here.stderr() + there.stderr()).not.toContain(REMOTE_KEY)
    expect(await readdir(dir.file('.parley-hands'))).toEqual([])
  },
  60_000,
)
