/**
 * Writes the packages that people install to `dist/packages/{protocol,client,cli}`: JavaScript with types, README, licence and
 * a manifest without what only this repository needs. `npm pack ./dist/packages/client` makes an archive of one.
 * The sources keep manifests of their own, whose `exports` name TypeScript files, so that development needs no build.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...parts) => join(root, ...parts)
const readManifest = (...parts) => JSON.parse(readFileSync(at(...parts, 'package.json'), 'utf8'))

/** The oldest Node that the packages run on. */
const NODE = '>=24'
/** Libraries that the bundle of the server loads by name, because they find files beside themselves. */
const LOADED_BY_NAME = ['@lydell/node-pty', 'playwright-core', '@silvia-odwyer/photon-node']

const LIBRARY = {
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' }, './package.json': './package.json' },
  types: './dist/index.d.ts',
  sideEffects: false,
}
const versionsOfServer = readManifest('packages', 'server').dependencies
const MANIFESTS = {
  protocol: LIBRARY,
  client: LIBRARY,
  cli: {
    bin: { parley: 'dist/parley.js' },
    exports: { './package.json': './package.json' },
    dependencies: Object.fromEntries(LOADED_BY_NAME.map((name) => [name, versionsOfServer[name]])),
  },
}

rmSync(at('dist', 'packages'), { recursive: true, force: true })
for (const [name, own] of Object.entries(MANIFESTS)) {
  const folder = at('dist', 'packages', name)
  mkdirSync(folder, { recursive: true })
  const { private: _private, exports: _exports, ...shared } = readManifest('packages', name)
  const manifest = { ...shared, files: ['dist'], engines: { node: NODE }, ...own }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync(at('packages', name, 'README.md'), join(folder, 'README.md'))
  copyFileSync(at('LICENSE'), join(folder, 'LICENSE'))
}

// The client is compiled against the built types of the protocol.
for (const name of ['protocol', 'client'])
  execFileSync(
    process.execPath,
    [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', `packages/${name}/tsconfig.build.json`],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )

execFileSync(process.execPath, [at('scripts', 'build.mjs'), at('dist', 'packages', 'cli', 'dist')], {
  cwd: root,
  stdio: 'inherit',
})
