/** Texts of the tab about files in English. */
const bytes = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** `512 bytes`, `12.4 KB`. */
const sizeOf = (size: number): string => {
  const power = size < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(size) / 3))
  return `${bytes.format(size / 1000 ** power)} ${UNITS[power]}`
}

export const files = {
  find: 'Go to a file',
  found: 'Files with this name',
  noMatch: (query: string) => `No file is named “${query}”.`,
  manyMatches: 'There are more. Write more of the name.',
  place: 'Place in the workspace',
  root: 'Workspace',
  list: (path: string) => (path === '' ? 'Files of the workspace' : `Files in ${path}`),
  empty: 'This directory is empty',
  emptyRoot: 'The workspace has no files yet',
  hasMore: 'This directory has more entries than are shown. Find the others by their names.',
  kind: { directory: 'Directory', file: 'File', other: 'Special file, or a link that leads out of the workspace' },
  link: 'Link',
  up: 'Up to the directory above',
  sizeOf,
  contentOf: (path: string) => `Content of ${path}`,
  more: 'Show more of this file',
  rest: (size: number) => `${sizeOf(size)} more`,
  emptyFile: 'This file is empty.',
  notText: 'This file is not text.',
  tooLarge: (size: number) => `This image has ${sizeOf(size)}, too many to show.`,
  noImage: 'The browser cannot show this image.',
  imageOf: (path: string) => `Image ${path}`,
  download: 'Download',
  downloading: 'Downloading …',
} as const
