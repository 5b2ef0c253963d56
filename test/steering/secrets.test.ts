import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { excused, outsider } from '../../packages/server/testing/canaries/watch.ts'
import { KEY } from '../../packages/server/testing/server.ts'
import { command } from '../../packages/server/testing/instructed-model.ts'
import {
  startKillable,
  startTalking,
  type Json,
  type Talking,
} from '../../packages/server/testing/steered-conversations.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'

const VALUE = canary('conversation_secret')
const VAULT = canary('lookup_answer')

/** Every message is a command that the agent runs. */
const obedient = ({ text, view }: { text: string; view: { assistantTurns: number } }) => {
  const said = [...text.matchAll(/run: ([^"\\]+)/g)].at(-1)?.[1]
  return view.assistantTurns % 2 === 0 && said !== undefined ? command(said) : { text: 'Done.' }
}

let server: Talking
beforeEach(async () => {
  server = await startTalking(obedient)
})
afterEach(() => server[Symbol.asyncDispose]())

const LENGTH = 'run: echo length ${#DEPLOY_KEY}'
async function output(of: Pick<Talking, 'say' | 'reaches' | 'events'>, id: string, text: string): Promise<string> {
  await of.say(id, text)
  await of.reaches(id, 'finished')
  const answers = (await of.events(id)).filter(({ kind }) => kind === 'ObservationEvent')
  return answers
    .at(-1)
    .observation.content.map((part: Json) => part.text)
    .join('')
}

describe('secrets of a conversation', () => {
  test.each<[string, unknown]>([
    ['plain text', VALUE],
    ['an object with a value', { value: VALUE }],
    ['a static secret', { kind: 'StaticSecret', value: VALUE, description: 'for deployments' }],
  ])('%s reaches the commands that name it, and is masked in their output', async (_, secret) => {
    const id = await server.open()
    expect(await server.post(id, '/secrets', { secrets: { DEPLOY_KEY: secret } })).toEqual({
      status: 200,
      body: { success: true },
    })
    expect(await output(server, id, LENGTH)).toContain(`length ${VALUE.length}`)
    expect(await output(server, id, 'run: echo value $DEPLOY_KEY')).toContain('<secret-hidden>')
    expect(await output(server, id, 'run: env')).not.toContain('DEPLOY_KEY')
    expect(JSON.stringify([await server.events(id), await server.info(id)])).not.toContain(VALUE)
    expect((await server.info(id)).secret_registry.secret_sources.DEPLOY_KEY).toMatchObject({
      kind: 'StaticSecret',
      value: null,
    })
  })

  test('secrets are merged by name, a hidden value keeps the stored one, and a replaced value stays masked', async () => {
    const id = await server.open()
    await server.post(id, '/secrets', { secrets: { DEPLOY_KEY: 'first-value-of-it', OTHER: 'other-value' } })
    await server.post(id, '/secrets', { secrets: { DEPLOY_KEY: 'second-value', OTHER: '**********' } })
    expect(await output(server, id, LENGTH)).toContain('length 12')
    expect(await output(server, id, 'run: echo ${#OTHER} first-$(echo value-of-it)')).toMatch(/11 <secret-hidden>/)
  })

  test("secrets of a conversation precede the user's and are invisible to other conversations", async () => {
    await server.call('POST', '/api/secrets', { name: 'DEPLOY_KEY', value: 'of-the-user' })
    const [own, other] = [await server.open(), await server.open()]
    await server.post(own, '/secrets', { secrets: { DEPLOY_KEY: 'of-this-conversation' } })
    expect(await output(server, own, LENGTH)).toContain('length 20')
    expect(await output(server, other, LENGTH)).toContain('length 11')
  })

  test("secrets of a start request precede those of the agent's context", async () => {
    const context = { agent_context: { secrets: { DEPLOY_KEY: 'context-value', OTHER: 'context-other' } } }
    const id = await server.open({ agent: server.agent({}, context), secrets: { DEPLOY_KEY: 'of-the-start' } })
    expect(await output(server, id, LENGTH)).toContain('length 12')
    expect(await output(server, id, 'run: echo ${#OTHER}')).toContain('13')
    const prompt = (await server.events(id)).find(({ kind }) => kind === 'SystemPromptEvent')
    expect(JSON.stringify(prompt)).toContain('DEPLOY_KEY')
  })

  test('encrypted secrets are decrypted when the start request declares them as such', async () => {
    const first = await server.open({ secrets: { DEPLOY_KEY: VALUE } })
    const { body } = await server.call('GET', `/api/conversations/${first}`, undefined, {
      'X-Expose-Secrets': 'encrypted',
    })
    const { DEPLOY_KEY } = body.secret_registry.secret_sources
    expect(DEPLOY_KEY.value).toMatch(/^gAAAAA/)
    const opened = await server.open({ secrets: { DEPLOY_KEY }, secrets_encrypted: true })
    expect(await output(server, opened, LENGTH)).toContain(`length ${VALUE.length}`)
  })

  test.each<[string, Json]>([
    ['a name that no variable can have', { 'not a name': 'x' }],
    ['a name of the system', { PATH: 'x' }],
    ['a value with NUL', { DEPLOY_KEY: 'a\0b' }],
    ['a host that is not asked', { DEPLOY_KEY: { kind: 'LookupSecret', url: 'http://169.254.169.254/latest' } }],
    ['a file', { DEPLOY_KEY: { url: 'file:///etc/passwd' } }],
  ])('%s is refused, and nothing is stored', async (_, secrets) => {
    const id = await server.open()
    expect((await server.post(id, '/secrets', { secrets: { GOOD: 'good-value', ...secrets } })).status).toBe(422)
    expect((await server.info(id)).secret_registry.secret_sources).toEqual({})
    const body = { workspace: { working_dir: server.dir.file('work') }, agent: server.agent(), secrets }
    expect((await server.call('POST', '/api/conversations', body)).status).toBe(422)
  })

  test('secrets of a conversation survive a restart, encrypted', async () => {
    await using killable = await startKillable(obedient)
    const id = await killable.open()
    await killable.post(id, '/secrets', { secrets: { DEPLOY_KEY: VALUE } })
    await killable.restart('kill')
    expect(await output(killable, id, LENGTH)).toContain(`length ${VALUE.length}`)
    const { execFileSync } = await import('node:child_process')
    expect(() => execFileSync('grep', ['-rq', VALUE, killable.dir.file('data')])).toThrow()
  })
})

describe('lookup secrets', () => {
  test("a lookup secret in the user's own store is requested from this server with its key", async () => {
    await server.call('PUT', '/api/settings/secrets', { name: 'STORED', value: canary('user_secret_2') })
    const id = await server.open()
    const secret = { kind: 'LookupSecret', url: '/api/settings/secrets/STORED', headers: { 'X-Session-API-Key': KEY } }
    expect((await server.post(id, '/secrets', { secrets: { DEPLOY_KEY: secret } })).status).toBe(200)
    // The server asks itself, and answers.
    const told = await excused('clear text', () => output(server, id, LENGTH))
    expect(told).toContain(`length ${canary('user_secret_2').length}`)
    expect(await output(server, id, 'run: echo $DEPLOY_KEY')).toContain('<secret-hidden>')
    const shown = (await server.info(id)).secret_registry.secret_sources.DEPLOY_KEY
    expect(shown.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/settings\/secrets\/STORED$/)
    if (isOneNode) expect(new URL(shown.url).origin).toBe(server.url)
    expect(JSON.stringify(shown)).not.toContain(KEY)
  })

  test('a lookup secret at an allowed host is requested when a command names it, and cached', async () => {
    const asked: IncomingHttpHeaders[] = []
    const vault = createServer((request, response) => {
      asked.push(request.headers)
      if (request.url === '/away') return void response.writeHead(302, { location: '/value' }).end()
      response.writeHead(request.url === '/value' ? 200 : 500).end(VAULT)
    }).listen(0, '127.0.0.1')
    await once(vault, 'listening')
    outsider('a vault', vault)
    const host = `127.0.0.1:${(vault.address() as AddressInfo).port}`
    await using listed = await startTalking(obedient, { PARLEY_SECRET_LOOKUP_HOSTS: host })
    const id = await listed.open({
      secrets: {
        DEPLOY_KEY: {
          kind: 'LookupSecret',
          url: `http://${host}/value`,
          headers: { Authorization: `Bearer ${canary('lookup_header')}` },
        },
        AWAY: { kind: 'LookupSecret', url: `http://${host}/away` },
        BROKEN: { kind: 'LookupSecret', url: `http://${host}/broken` },
      },
    })
    expect(await output(listed, id, 'run: echo nothing')).toContain('nothing')
    expect(asked).toEqual([])
    expect(await output(listed, id, LENGTH)).toContain(`length ${VAULT.length}`)
    expect(await output(listed, id, LENGTH)).toContain(`length ${VAULT.length}`)
    expect(asked.map(({ authorization }) => authorization)).toEqual([`Bearer ${canary('lookup_header')}`])
    expect(await output(listed, id, 'run: echo [${AWAY}${BROKEN}]')).toContain('[]')
    vault.closeAllConnections()
    vault.close()
  })

  // Each node has its own cache.
  if (isOneNode)
    test('a lookup secret is requested again after a command failed with it, before its minute is over', async () => {
      let asked = 0
      const vault = createServer((_, response) => response.end(`${VAULT}${++asked > 1 ? '-rotated' : ''}`))
      vault.listen(0, '127.0.0.1')
      await once(vault, 'listening')
      outsider('a vault', vault)
      const host = `127.0.0.1:${(vault.address() as AddressInfo).port}`
      let seconds = 0
      const lookupClock = () => seconds * 1000
      await using listed = await startTalking(obedient, { PARLEY_SECRET_LOOKUP_HOSTS: host }, { lookupClock })
      // One conversation per attempt: a cached value counts for all of them.
      const lengthAfter = async (command: string) => {
        const id = await listed.open({ secrets: { DEPLOY_KEY: { kind: 'LookupSecret', url: `http://${host}/value` } } })
        return output(listed, id, `run: echo length \${#DEPLOY_KEY}; ${command}`)
      }
      expect(await lengthAfter('false')).toContain(`length ${VAULT.length}`)
      seconds = 4
      expect(await lengthAfter('true')).toContain(`length ${VAULT.length}`)
      expect(asked).toBe(1)
      seconds = 6
      expect(await lengthAfter('true')).toContain(`length ${VAULT.length + '-rotated'.length}`)
      expect(asked).toBe(2)
      vault.closeAllConnections()
      vault.close()
    })
})
