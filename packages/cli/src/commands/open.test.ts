import { expect, test } from 'vitest'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

/** Exchanges the code of a printed link. */
async function login(link: string): Promise<{ status: number; token: string }> {
  const [origin, code] = link.split('/#login=')
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) }
  const answer = await fetch(`${origin}/api/auth/sessions`, sent)
  return { status: answer.status, token: ((await answer.json()) as { token: string }).token }
}

test('a start and parley open each print a link that logs one browser in', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: folder.path }
  const { parley, url } = await startServer(options)
  await using server = parley
  const [, first] = await server.prints(/^open the web UI: (http:\S+)$/m)
  const opened = await run(['open', '--data-dir', folder.path], options)
  expect([opened.code, opened.stderr]).toEqual([0, ''])
  const links = [first!, opened.stdout.trim()]
  for (const link of links) {
    expect([link.startsWith(`${url}/#login=`), /[\w-]{22}$/.test(link)]).toEqual([true, true])
    const { status, token } = await login(link)
    expect(status).toBe(201)
    const me = await fetch(`${url}/api/me`, { headers: { 'x-session-api-key': token } })
    expect(await me.json()).toMatchObject({ user: 'default', role: 'admin' })
    expect((await login(link)).status).toBe(401)
  }
  expect(new Set(links).size).toBe(2)
})
