/** The compose files name settings, commands, ports and files that exist, and fit together. Source: docs/deployment.md, Containers. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { envNames, ROWS } from '../../packages/server/src/config/settings.ts'
import { readConfig } from '../../packages/server/src/index.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { readSource, sourceFiles } from '../source-files.ts'
import { readCompose, requiredIn, secondsOf, type Service } from './compose-file.ts'

const ENV = {
  PARLEY_SESSION_API_KEYS: 'a-key-of-the-operator',
  PARLEY_SECRET_KEY: 'sealing',
  POSTGRES_PASSWORD: 'letters1',
}
const one = readCompose('compose.yaml', ENV)
const fleet = readCompose('compose.fleet.yaml', ENV)
const nodes = Object.entries(fleet.services).filter(([name]) => name.startsWith('node'))
const servers: [string, Service][] = [['parley', one.services['parley']!], ...nodes]

/** The variables of the image, which the Dockerfile sets. */
const ofImage = Object.fromEntries(
  [...readSource('Dockerfile').matchAll(/\b(PARLEY_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
)
const environmentOf = ({ environment = {} }: Service) =>
  Object.fromEntries(Object.entries({ ...ofImage, ...environment }).map(([name, value]) => [name, String(value)]))

test.each(servers)('the environment of %s has only settings that exist, and is a valid configuration', (_, service) => {
  const env = environmentOf(service)
  const known = new Set(ROWS.flatMap(envNames))
  expect(Object.keys(env).filter((name) => !known.has(name))).toEqual([])
  const { config } = readConfig({ flags: {}, env, cwd: '/data', home: '/home/node' })
  expect(config).toMatchObject({ host: '0.0.0.0', port: 8000, dataDir: '/data', metrics: { port: 9464 } })
})

test('a compose file without its secrets is refused, and .env of the page has all of them', () => {
  for (const file of ['compose.yaml', 'compose.fleet.yaml']) expect(() => readCompose(file, {})).toThrow('required')
  expect(requiredIn('compose.yaml')).toEqual(['PARLEY_SECRET_KEY', 'PARLEY_SESSION_API_KEYS'])
  expect(requiredIn('compose.fleet.yaml')).toEqual([
    'PARLEY_SECRET_KEY',
    'PARLEY_SESSION_API_KEYS',
    'POSTGRES_PASSWORD',
  ])
  const page = readSource('docs/deployment.md')
  for (const name of requiredIn('compose.fleet.yaml')) expect(page).toContain(name)
})

test.each(servers)(
  '%s has its data in a volume, an init, no capabilities, and the options of the sandbox',
  (_, service) => {
    expect(service.volumes).toEqual([expect.stringMatching(/^\w+:\/data$/)])
    expect(service).toMatchObject({ init: true, cap_drop: ['ALL'] })
    expect(service.security_opt).toEqual([
      'no-new-privileges:true',
      'seccomp=unconfined',
      'apparmor=unconfined',
      'systempaths=unconfined',
    ])
  },
)

test('only loopback of the host reaches the published ports', () => {
  const published = [...Object.values(one.services), ...Object.values(fleet.services)].flatMap(
    ({ ports = [] }) => ports,
  )
  expect(published.length).toBe(2)
  for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:/)
})

describe('the fleet', () => {
  test('has three nodes with the same store and keys, and addresses of their own', () => {
    const environments = nodes.map(([, service]) => environmentOf(service))
    expect(environments.map(({ PARLEY_NODE_URL: url }) => url)).toEqual(nodes.map(([name]) => `http://${name}:8000`))
    const shared = environments.map((each) => JSON.stringify({ ...each, PARLEY_NODE_URL: '' }))
    expect(new Set(shared).size).toBe(1)
    const { PARLEY_DATABASE_URL: url } = environments[0]!
    const { database } = fleet.services
    expect(new URL(url!)).toMatchObject({
      hostname: 'database',
      username: database!.environment!['POSTGRES_USER'],
      password: database!.environment!['POSTGRES_PASSWORD'],
      pathname: `/${database!.environment!['POSTGRES_DB']}`,
    })
    expect(new Set(nodes.map(([, { volumes }]) => volumes![0])).size).toBe(3)
  })

  test('grants each node its drain and ten seconds more', () => {
    for (const [, service] of nodes)
      expect(secondsOf(service.stop_grace_period!)).toBeGreaterThanOrEqual(
        Number(service.environment!['PARLEY_DRAIN_SECONDS']) + 10,
      )
    expect(secondsOf(one.services['parley']!.stop_grace_period!)).toBeGreaterThanOrEqual(10)
  })

  test('the load balancer knows every node, and mounts a file that exists', () => {
    const { environment = {}, volumes = [] } = fleet.services['balancer']!
    expect(Object.entries(environment).filter(([name]) => name.startsWith('NODE'))).toEqual(
      nodes.map(([name]) => [name.toUpperCase(), `${name}:8000`]),
    )
    const [source] = volumes[0]!.split(':')
    expect(sourceFiles(source!.replace('./', ''))).toHaveLength(1)
    const used = [...readSource('deploy/haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
    expect(new Set(used)).toEqual(new Set(Object.keys(environment)))
  })
})

test('the health checks of the compose files succeed at a server that is ready, and fail without one', async () => {
  await using dir = await tempDir()
  const port = await freePort()
  const health = async ({ healthcheck }: Service) => {
    const [kind, program, ...args] = healthcheck!.test
    expect([kind, program]).toEqual(['CMD', 'node'])
    const words = args.map((word) => word.replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`))
    return promisify(execFile)(process.execPath, words).then(
      () => 0,
      ({ code }: { code: number }) => code,
    )
  }
  for (const [, service] of servers.slice(0, 2)) expect(await health(service)).toBe(1)
  await using _server = await startServerProcess({ dataDir: dir.file('data'), port })
  for (const [, service] of servers.slice(0, 2)) expect(await health(service)).toBe(0)
})
