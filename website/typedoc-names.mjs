/** A plugin of TypeDoc: a module is called what a program imports. */
import { Converter } from 'typedoc'

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) module.name = importedName(module)
  })
}

/** @param {import('typedoc').DeclarationReflection} module */
function importedName({ name, sources }) {
  const file = sources?.[0]?.fullFileName ?? name
  const [, folder, path] =
    /packages\/([\w-]+)\/src\/(?:stores\/)?(?:(.*)\/)?index\.ts$/.exec(file) ?? []
  if (folder === undefined) throw new Error(`No package has the module ${file}.`)
  const scope = folder === 'holdfast' ? '' : '@holdfast/'
  return [`${scope}${folder}`, path].filter(Boolean).join('/')
}
