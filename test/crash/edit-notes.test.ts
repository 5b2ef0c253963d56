/** What is noted about an edit is a row of the store: docs/architecture.md, Recovery. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync, backup } from 'node:sqlite'
import { expect, test } from 'vitest'
import { ofKind, startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'
import { hasFileStore } from '../../packages/server/testing/store-choice.ts'

const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
const insert = (path: string) => ({
  name: 'file_editor',
  arguments: { command: 'insert', path, insert_line: 0, new_str: 'added' },
})
const patch = (path: string) => ({
  name: 'apply_patch',
  arguments: {
    patch: `*** Begin Patch\n*** Update File: ${path}\n-old\n+added\n+old\n*** Add File: new.txt\n+new\n*** End Patch`,
  },
})
const tools = [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'apply_patch' }]
const agentOf = ({ model }: Running) => ({
  kind: 'Agent',
  llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: 'k', num_retries: 0 },
  tools,
})

const noteKinds = async (server: Running): Promise<string[]> =>
  (await queryStore<{ kind: string }>(server.file('data'), 'SELECT kind FROM notes')).map(({ kind }) => kind)

test.each([
  ['file_editor', insert],
  ['apply_patch', patch],
])(
  'an edit by %s whose server is killed before its result is stored is applied once, and its note is deleted with the result',
  async (kind, call) => {
    let path = ''
    await using server = await startRunning(
      ({ view }) => (view.toolResults.length > 0 ? { text: 'done' } : { toolCalls: [call(path)] }),
      {},
      'process',
    )
    path = server.file('work', '0', 'a.txt')
    const [edited, go] = [server.file('edited'), server.file('go')]
    // The hook runs after the edit, and before its result is stored.
    const command = `echo x >>${edited}; until [ -e ${go} ]; do sleep 0.05; done`
    const hooks = [{ matcher: kind, hooks: [{ type: 'command', command, timeout: 60 }] }]
    const id = await server.start({ agent: agentOf(server), hook_config: { post_tool_use: hooks } })
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'old\n')
    await server.say(id, 'go')
    await until(() => textOf(edited) === 'x\n')
    expect([textOf(path), await noteKinds(server)]).toEqual(['added\nold\n', [kind]])
    await server.kill(() => writeFileSync(go, ''))
    await server.until(id, 'finished')
    expect(textOf(path)).toBe('added\nold\n')
    const events = await server.events(id)
    expect(ofKind(events, 'ObservationEvent')).toMatchObject([{ observation: { is_error: false } }])
    expect(ofKind(events, 'AgentErrorEvent')).toEqual([])
    expect(await noteKinds(server)).toEqual([])
  },
  60_000,
)

// The file of the store is copied and put back.
test.runIf(hasFileStore)(
  'an edit that an older store in its own data directory does not know of is reported as unknown, and not repeated',
  async () => {
    let work = ''
    const trace = () => join(work, 'trace')
    await using server = await startRunning(
      ({ view }) => {
        if (view.toolResults.length > 0) return { text: 'done' }
        const command = `echo x >>${trace()}; until [ -e ${work}/go ]; do sleep 0.05; done`
        return { toolCalls: [{ name: 'terminal', arguments: { command } }, insert(join(work, 'a.txt'))] }
      },
      {},
      'process',
    )
    work = server.file('work', '0')
    const id = await server.start()
    mkdirSync(work, { recursive: true })
    writeFileSync(join(work, 'a.txt'), 'old\n')
    await server.say(id, 'go')
    await until(() => textOf(trace()) === 'x\n')
    const store = server.file('data', 'parley.db')
    const live = new DatabaseSync(store, { readOnly: true })
    await backup(live, server.file('backup.db'))
    live.close()
    writeFileSync(join(work, 'go'), '')
    await server.until(id, 'finished')
    expect(textOf(join(work, 'a.txt'))).toBe('added\nold\n')

    await server.kill(() => {
      for (const end of ['-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
      cpSync(server.file('backup.db'), store)
    })
    await server.until(id, 'finished')
    expect([textOf(join(work, 'a.txt')), textOf(trace())]).toEqual(['added\nold\n', 'x\n'])
    const events = await server.events(id)
    // The call ledger knows the command; only a note would know the edit.
    expect(ofKind(events, 'ObservationEvent')).toMatchObject([{ tool_name: 'terminal' }])
    expect(ofKind(events, 'AgentErrorEvent')).toMatchObject([{ tool_name: 'file_editor' }])
  },
  60_000,
)
