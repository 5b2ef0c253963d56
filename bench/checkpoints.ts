import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startScriptedModel } from '../packages/server/testing/scripted-model.ts'
import { tempDir } from '../packages/server/testing/temp.ts'
import { median, serve, Turns } from './harness.ts'

const FILES = 10_000
const FOLDERS = 100
const ROUNDS = 9
/** A file of a usual size, in bytes. */
const BYTES = 3_000

/**
 * The cost of checkpoints in a repository of 10,000 files: turns with one command, with and without checkpoints, and forks. A model
 * that answers at once shows the whole time that a run waits for its checkpoints.
 */
export async function checkpoints(): Promise<Record<string, number>> {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    respond: ({ body }) => {
      const messages = body['messages'] as { role: string }[]
      if (messages.at(-1)!.role === 'tool') return { text: 'done' }
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${messages.length} >changed` } }] }
    },
  })
  await using server = await serve(dir.file('data'))
  const conversation = async (name: string, file_checkpoints: boolean) => {
    await fill(dir.file('work', name))
    const { status, body } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: dir.file('work', name) },
      agent: {
        kind: 'Agent',
        llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: 'k' },
        tools: [{ name: 'terminal' }],
      },
      autotitle: false,
      file_checkpoints,
    })
    if (status !== 201) throw new Error(`creating a conversation answered ${status}: ${JSON.stringify(body)}`)
    return body.id as string
  }
  const turns = async (id: string) => {
    using socket = await Turns.open(server, id)
    const first = await socket.turn()
    const later: number[] = []
    for (let round = 0; round < ROUNDS; round++) later.push(await socket.turn())
    return { first, later: median(later) }
  }
  const without = await turns(await conversation('without', false))
  const id = await conversation('with', true)
  const withThem = await turns(id)
  const forks: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now()
    const { status } = await server.call('POST', `/api/conversations/${id}/fork`, {})
    if (status !== 201) throw new Error(`a fork answered ${status}`)
    forks.push(performance.now() - from)
  }
  return {
    'first checkpoint of 10000 files (ms)': withThem.first - without.first,
    'checkpoint in a repository of 10000 files (ms)': withThem.later - without.later,
    'fork with a copy of 10000 files (ms)': median(forks),
  }
}

async function fill(root: string): Promise<void> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    const path = join(root, `folder-${folder}`)
    await mkdir(path, { recursive: true })
    for (let file = 0; file < FILES / FOLDERS; file++)
      await writeFile(join(path, `file-${file}.txt`), `${folder} ${file}\n`.repeat(BYTES / 8))
  }
}
