/** Another user's key, and paths and ids in requests that start conversations. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { ANNS, closedDirectories, closedFiles, openAttackBench, type AttackBench } from './bench.ts'

let bench: AttackBench
beforeAll(async () => {
  bench = await openAttackBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

const agent = { kind: 'Agent', llm: { model: 'scripted/none' }, tools: [] }
const start = (members: object, who: 'ann' | 'bob' = 'bob') =>
  bench.as(who, 'POST', '/api/conversations', { agent, autotitle: false, ...members })
const countOf = async (who: 'ann' | 'bob') => (await bench.as(who, 'GET', '/api/conversations/count')).json
const eventsOf = async (id: string) =>
  (await bench.as('bob', 'GET', `/api/conversations/${id}/events/search?limit=100`)).text
const failure = async (id: string): Promise<string> => {
  let text = ''
  await until(async () => (text = await eventsOf(id)).includes('ConversationErrorEvent'), 20_000)
  return text
}

describe('a conversation of another user', () => {
  test.each([
    ['working directory', (working_dir: string) => ({ workspace: { working_dir } }), ['workspace', 'working_dir']],
    [
      'worktree',
      (working_dir: string) => ({ workspace: { working_dir }, worktree: true }),
      ['workspace', 'working_dir'],
    ],
    [
      'plugin',
      (source: string) => ({ workspace: { working_dir: bench.dir('bob') }, plugins: [{ source }] }),
      ['plugins', 0, 'source'],
    ],
  ])('is not started with a closed directory as its %s', async (_, members, loc) => {
    const before = await countOf('bob')
    for (const path of closedDirectories(bench)) {
      const answer = await start(members(path))
      expect([path, answer.status]).toEqual([path, 422])
      expect(answer.json.detail).toMatchObject([{ type: 'value_error', loc: ['body', ...loc], input: path }])
      expect(answer.text.replaceAll(path, '')).not.toContain(ANNS)
    }
    expect(await countOf('bob')).toBe(before)
    expect(existsSync(bench.data('worktrees'))).toBe(false)
  })

  test('does not follow a link that was changed after its start', async () => {
    const [link, open] = [bench.dir('bob', 'moving'), bench.dir('bob', 'open')]
    mkdirSync(open)
    writeFileSync(join(open, 'secret.txt'), 'of bob')
    symlinkSync(open, link)
    const { id } = (await start({ workspace: { working_dir: link } })).json
    const file = () => bench.as('bob', 'GET', `/api/conversations/${id}/workspace/secret.txt`)
    expect((await file()).text).toBe('of bob')
    rmSync(link)
    symlinkSync(bench.workspace, link)
    const answer = await file()
    expect([answer.status, answer.text.includes(ANNS)]).toEqual([403, false])
    const hook = { matcher: '*', hooks: [{ type: 'command', command: 'cp secret.txt ../stolen; cat secret.txt' }] }
    const again = await start({ workspace: { working_dir: link }, hook_config: { session_start: [hook] } })
    expect(again.status).toBe(422)
    await bench.as('bob', 'POST', `/api/conversations/${id}/events`, {
      content: [{ type: 'text', text: 'go' }],
      run: true,
    })
    expect(await failure(id)).not.toContain(ANNS)
  })

  test('finds nothing of another user with a hook or a command, whatever path it names', async () => {
    const paths = [...closedFiles(bench), ...closedDirectories(bench)]
    const script = paths.map((path) => `cat '${path}'; ls -a '${path}'`).join('; ')
    const attack = `{ ${script}; cat /proc/*/environ; touch '${bench.workspace}/made'; } > "$OUT" 2>&1; true`
    const own = bench.dir('bob', 'hooked')
    mkdirSync(own)
    const hook = { matcher: '*', hooks: [{ type: 'command', command: `OUT=hook; ${attack}` }] }
    const { id } = (await start({ workspace: { working_dir: own }, hook_config: { session_start: [hook] } })).json
    await until(async () => (await eventsOf(id)).includes('HookExecutionEvent'), 20_000)
    const run = { command: `OUT=command; ${attack}`, cwd: own, timeout: 60 }
    expect((await bench.as('bob', 'POST', '/api/bash/execute_bash_command', run)).status).toBe(200)
    for (const name of ['hook', 'command']) {
      const text = readFileSync(join(own, name), 'utf8')
      // The errors of the programs name the paths that the script names.
      expect([name, text.length > 1000, text.replaceAll(/'\/[^\n]*/g, '').includes(ANNS)]).toEqual([name, true, false])
    }
    expect(existsSync(join(bench.workspace, 'made'))).toBe(false)
  })

  test('starts no MCP server in a closed directory', async () => {
    const stolen = bench.dir('bob', 'stolen-by-server')
    const server = { command: 'sh', args: ['-c', `cat secret.txt >${stolen}`], cwd: bench.workspace }
    const { id } = (
      await start({
        workspace: { working_dir: bench.dir('bob') },
        agent: { ...agent, mcp_config: { thief: server } },
        initial_message: { content: [{ type: 'text', text: 'go' }] },
      })
    ).json
    await failure(id)
    expect(existsSync(stolen)).toBe(false)
  })

  test('plays no script from a closed directory, and is not told what a file that is no script holds', async () => {
    writeFileSync(join(bench.workspace, 'script.json'), JSON.stringify([{ text: ANNS }]))
    writeFileSync(bench.dir('bob', 'own.json'), `{${ANNS}`)
    for (const script of [join(bench.workspace, 'script.json'), '../workspaces/x.json', bench.dir('bob', 'own.json')]) {
      const { id } = (
        await start({
          workspace: { working_dir: bench.dir('bob') },
          agent: { ...agent, llm: { model: `scripted/${script}` } },
          initial_message: { content: [{ type: 'text', text: 'go' }] },
        })
      ).json
      expect([script, (await failure(id)).includes(ANNS)]).toEqual([script, false])
    }
  })
})

describe('the id of a conversation', () => {
  test('that another user has deleted is taken, and its files are not handed on', async () => {
    const conversation_id = randomUUID()
    await start({ conversation_id, workspace: { working_dir: bench.dir('ann-1') } }, 'ann')
    const own = (await bench.as('ann', 'POST', '/api/conversations', {})).json.conversation_id
    const file = bench.data('workspaces', own, 'notes.txt')
    writeFileSync(file, ANNS)
    for (const id of [conversation_id, own]) {
      expect((await bench.as('ann', 'DELETE', `/api/conversations/${id}`)).json.success).toBe(true)
      for (const body of [{ conversation_id: id }, { conversation_id: id, initial_user_msg: 'x' }])
        expect((await bench.as('bob', 'POST', '/api/conversations', body)).status).toBe(409)
      expect((await start({ conversation_id: id, workspace: { working_dir: bench.dir('bob') } })).status).toBe(409)
      const source = (await start({ workspace: { working_dir: bench.dir('bob') } })).json.id
      expect((await bench.as('bob', 'POST', `/api/conversations/${source}/fork`, { id })).status).toBe(409)
    }
    expect(readFileSync(file, 'utf8')).toBe(ANNS)
    const again = await bench.as('ann', 'POST', '/api/conversations', { conversation_id: own })
    expect(again.status).toBe(200)
    expect((await bench.as('ann', 'GET', `/api/conversations/${own}/workspace/notes.txt`)).text).toBe(ANNS)
  })

  test.each(['workspaces', 'worktrees'])('whose folder in %s is there without a record is taken', async (folder) => {
    const id = randomUUID()
    mkdirSync(bench.data(folder, id), { recursive: true })
    writeFileSync(bench.data(folder, id, 'notes.txt'), ANNS)
    const answer = await bench.as('bob', 'POST', '/api/conversations', { conversation_id: id })
    expect([answer.status, answer.json.detail]).toEqual([409, expect.stringContaining('Choose another id')])
    const source = (await start({ workspace: { working_dir: bench.dir('bob') } })).json.id
    expect((await bench.as('bob', 'POST', `/api/conversations/${source}/fork`, { id })).status).toBe(409)
    const path = encodeURIComponent(bench.data(folder, id, 'notes.txt'))
    expect((await bench.as('bob', 'GET', `/api/file/download?path=${path}`)).status).toBe(422)
  })
})
