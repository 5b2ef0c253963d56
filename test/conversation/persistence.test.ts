/** The storage of a conversation, and its absence with an ephemeral server. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'
import { verifies } from '../verifies.ts'
import { storedText } from '../../packages/server/testing/chosen-store.ts'

const WORDS = 'a rare sentence that nobody else says'
const PLAN = [{ title: WORDS, notes: '', status: 'todo' }]
const tools = [{ name: 'task_tracker' }]
/** Creates a task list, then sends a message. */
const answers = [
  { toolCalls: [{ name: 'task_tracker', arguments: { command: 'plan', task_list: PLAN } }] },
  { text: 'noted' },
]

async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const contents = await Promise.all(files.map(async (file) => ({ file, bytes: await readFile(file) })))
  return contents.filter(({ bytes }) => bytes.includes(text)).map(({ file }) => file.slice(folder.length + 1))
}

/** One conversation that ran to its end, on a server that was then killed; what the next server knows of it. */
async function acrossTwoServers(dir: string, work: string, env: Record<string, string>) {
  await using model = await startScriptedModel({ answers, by: 'turn' })
  await using first = await startServerProcess({ dataDir: dir, env })
  const begun = await start(
    first,
    starting(model, work, { agent: { tools }, initial_message: { ...message(WORDS), run: true } }),
  )
  await begun.is('finished')
  const info = await begun.info()
  const events = await begun.events()
  await first.kill()
  await using second = await startServerProcess({ dataDir: dir, env })
  const answer = await second.call('GET', `/api/conversations/${begun.id}`)
  const page = await second.call('GET', `/api/conversations/${begun.id}/events/search`)
  return { info, events, answer, found: page.body.items ?? [] }
}

verifies(
  ['seed.conversation-info.persistence_dir.meaning'],
  'state and events of a conversation survive a killed server in the store of its data directory',
  async () => {
    await using dir = await tempDir()
    const { info, events, answer, found } = await acrossTwoServers(dir.file('data'), dir.file('work'), {})
    expect(info.persistence_dir).toBe('workspace/conversations')
    expect(answer).toMatchObject({ status: 200, body: { id: info.id, execution_status: 'finished' } })
    expect(found).toEqual(events)
    expect(await storedText(dir.file('data'))).toContain(WORDS)
    const files = await filesWith(dir.file('data'), WORDS)
    expect(files.filter((file) => !file.startsWith('parley.db'))).toEqual([])
  },
  60_000,
)

verifies(
  ['seed.conversation-info.persistence_dir.null'],
  'without a data directory a conversation exists in memory only: no file contains it, and the next server does not know it',
  async () => {
    await using dir = await tempDir()
    const { info, events, answer } = await acrossTwoServers(dir.file('data'), dir.file('work'), {
      PARLEY_EPHEMERAL: 'true',
    })
    expect(info.persistence_dir).toBeNull()
    expect(events.length).toBeGreaterThan(3)
    expect(answer.status).toBe(404)
    expect(await filesWith(dir.file('data'), WORDS)).toEqual([])
  },
  60_000,
)
