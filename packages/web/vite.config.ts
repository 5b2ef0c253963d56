import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  build: {
    manifest: true,
    target: 'es2024',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      // Libraries mark files for a framework that renders on the server; the mark means nothing here.
      onLog: (level, log, write) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : write(level, log)),
    },
  },
})
