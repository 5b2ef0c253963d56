import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** Puts the styles of the entry first: they declare the order of the layers, which later files only fill. */
const entryStylesFirst: Plugin = {
  name: 'parley-entry-styles-first',
  transformIndexHtml: {
    order: 'post',
    handler(html) {
      const links = html.match(/ *<link rel="stylesheet"[^>]*>\n/g) ?? []
      const sorted = links.toSorted((a, b) => Number(b.includes('/index-')) - Number(a.includes('/index-')))
      return links
        .reduce((text, link, index) => text.replace(link, `<!--${index}-->`), html)
        .replace(/<!--(\d+)-->/g, (_, index: string) => sorted[Number(index)] ?? '')
    },
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [entryStylesFirst],
  build: {
    manifest: true,
    target: 'es2024',
    cssTarget: ['chrome131', 'firefox133', 'safari18.2'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      // What every page loads is one file: in more files it would be compressed less.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'app',
              test: /\/src\/(app\.tsx|api\/query-client\.ts|log\/read\.ts|lib\/location\.ts)$|\/node_modules\/react-dom\/|rolldown\/runtime/,
            },
          ],
        },
      },
      // Libraries mark files for a framework that renders on the server; the mark means nothing here.
      onLog: (level, log, write) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : write(level, log)),
    },
  },
})
