/** Texts of the conversation page in English. */

const integer = new Intl.NumberFormat('en')
const many = (count: number, one: string, other: string) => `${integer.format(count)} ${count === 1 ? one : other}`

export const conversation = {
  // Texts and outputs
  table: 'Table',
  image: 'Image',
  imageFrom: (text: string, host: string) => `Image ${text === '' ? '' : `“${text}” `}from ${host} — open in a new tab`,
  imageWithoutHost: (text: string) => `Image ${text === '' ? '' : `“${text}” `}that is not loaded`,
  leadsTo: (host: string) => `leads to ${host}`,
  codeOf: (language: string) => (language === '' ? 'Code' : `Code, ${language}`),
  copyCode: 'Copy the code',
  copied: 'Copied',
  earlierLines: (count: number) => `Show ${many(count, 'earlier line', 'earlier lines')}`,
  laterLines: (count: number) => `Show ${many(count, 'more line', 'more lines')}`,
  sameLines: (count: number) => `${many(count, 'unchanged line', 'unchanged lines')}`,
  changesOf: (path: string) => `Changes of ${path}`,
}
