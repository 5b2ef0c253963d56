/** Files that version 0.1.0 kept beside the store: they become rows when their conversation first needs them. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openStoreCipher } from '../../packages/server/src/secrets/index.ts'
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { eventsOf, infoOf, play, progressOf } from '../../packages/server/testing/replays.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const keyText = 'key of the stored files'
const env = { PARLEY_SECRET_KEY: keyText }

/** Turns the rows of a conversation's files into files, as version 0.1.0 had them; returns their paths. */
async function asBefore(dataDir: string, id: string): Promise<string[]> {
  const path = join(dataDir, 'parley.db')
  using database = new DatabaseSync(path)
  await using storage = await openSqlite({ path })
  const cipher = await openStoreCipher(storage.sealTest, { keyText, keyFile: '', replaces: false })
  const rows = database
    .prepare(
      'SELECT DISTINCT f.name FROM conversation_files f JOIN conversations c ON c.n = f.conversation WHERE c.id = ?',
    )
    .all(id)
  const folder = join(dataDir, 'conversations', id)
  await mkdir(folder, { recursive: true })
  for (const { name } of rows) {
    const parts = (await storage.files.get(id as never, String(name)))!
    await writeFile(join(folder, String(name)), parts.map((part) => cipher.open(part)).join(''))
  }
  database.exec('DELETE FROM conversation_files')
  return rows.map(({ name }) => join(folder, String(name)))
}

test('a replay continues with the recording and the task list that version 0.1.0 kept in files', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  const wait = 'until [ -e go ]; do sleep 0.05; done; echo said'
  const task = (command: string, more: object) => ({
    source: 'agent',
    action: 'task_tracking',
    args: { command, ...more },
  })
  const recording = [
    { source: 'user', action: 'message', args: { content: 'go' } },
    { id: 1, ...task('plan', { task_list: [{ id: '1', title: 'from before', status: 'todo' }] }) },
    { cause: 1, source: 'agent', observation: 'task_tracking', content: 'ok', extras: {} },
    { id: 3, source: 'agent', action: 'run', args: { command: wait } },
    { cause: 3, source: 'agent', observation: 'run', content: 'said', extras: { metadata: { exit_code: 0 } } },
    { id: 5, ...task('view', {}) },
    { cause: 5, source: 'agent', observation: 'task_tracking', content: 'ok', extras: {} },
    { source: 'agent', action: 'finish', args: { final_thought: 'done' } },
  ]
  await using first = await startServerProcess({ dataDir, env })
  const { id, workspace } = await play(first, dataDir, recording)
  const kinds = async () => (await eventsOf(first, id)).map((event) => event.action?.kind)
  await until(async () => (await kinds()).includes('TerminalAction'))
  await first.kill()

  const files = await asBefore(dataDir, id)
  expect(files.map((file) => file.split('/').at(-1)).toSorted()).toEqual([
    'TASKS.json',
    expect.stringMatching(/^replay-/),
  ])
  await using second = await startServerProcess({ dataDir, env })
  await writeFile(join(workspace, 'go'), '')
  await until(async () => (await infoOf(second, id)).execution_status === 'finished')
  const events = await eventsOf(second, id)
  expect(progressOf(events)).toMatchObject({ position: 4 })
  expect(JSON.stringify(events.findLast((event) => event.observation?.kind === 'TaskTrackerObservation'))).toContain(
    'from before',
  )
  expect(files.filter((file) => existsSync(file))).toEqual([])
  await second.call('DELETE', `/api/conversations/${id}`)
  using database = new DatabaseSync(join(dataDir, 'parley.db'), { readOnly: true })
  expect(database.prepare('SELECT count(*) AS n FROM conversation_files').get()).toEqual({ n: 0 })
}, 60_000)
